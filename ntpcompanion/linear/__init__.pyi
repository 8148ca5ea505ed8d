from .contexts import ContextTable as ContextTable
from .compatibility import check_compatibility as check_compatibility
from .separability import check_separability as check_separability
from .separability import Verdict as Verdict
from .ties import project_onto_F as project_onto_F
from .svm import solve_ntp_svm as solve_ntp_svm
from .svm import certified_gap as certified_gap
from .margin_programs import constraint_pairs as constraint_pairs
from .descent import descend as descend
from .descent import step_bound as step_bound
from .flow import gradient_flow as gradient_flow
from .regularization_path import regularization_path as regularization_path
from .alignment import measure_alignment as measure_alignment
from .alignment import cosine_distance as cosine_distance
from .split import SplitLoss as SplitLoss
from .excess import excess_bound as excess_bound
from .threshold import statistical_dimension as statistical_dimension
from .threshold import predicted_threshold as predicted_threshold
from .autoregressive import recurrent_states as recurrent_states
from .autoregressive import flatten_sequences as flatten_sequences

__all__ = [
    "ContextTable",
    "check_compatibility",
    "check_separability",
    "Verdict",
    "project_onto_F",
    "solve_ntp_svm",
    "certified_gap",
    "constraint_pairs",
    "descend",
    "step_bound",
    "gradient_flow",
    "regularization_path",
    "measure_alignment",
    "cosine_distance",
    "SplitLoss",
    "excess_bound",
    "statistical_dimension",
    "predicted_threshold",
    "recurrent_states",
    "flatten_sequences",
]
