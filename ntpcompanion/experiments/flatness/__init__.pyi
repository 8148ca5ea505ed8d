from . import flattest_neurons as flattest_neurons
from . import bound_terms as bound_terms
from . import feature_traces as feature_traces
from . import head_samples as head_samples
from . import bracket_descent as bracket_descent
from . import noise_curvature as noise_curvature
from . import drift_constant as drift_constant
from . import valley_runs as valley_runs
from . import sparse_valley as sparse_valley
from . import trace_estimates as trace_estimates
from . import transfer_paths as transfer_paths
from . import adam_drift as adam_drift
from . import enlarged_traces as enlarged_traces
from . import network_traces as network_traces

__all__ = [
    "flattest_neurons",
    "bound_terms",
    "feature_traces",
    "head_samples",
    "bracket_descent",
    "noise_curvature",
    "drift_constant",
    "valley_runs",
    "sparse_valley",
    "trace_estimates",
    "transfer_paths",
    "adam_drift",
    "enlarged_traces",
    "network_traces",
]
