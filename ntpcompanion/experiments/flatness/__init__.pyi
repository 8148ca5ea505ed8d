from . import flattest_neurons as flattest_neurons
from . import bound_terms as bound_terms
from . import feature_traces as feature_traces
from . import head_samples as head_samples
from . import bracket_descent as bracket_descent

__all__ = [
    "flattest_neurons",
    "bound_terms",
    "feature_traces",
    "head_samples",
    "bracket_descent",
]
