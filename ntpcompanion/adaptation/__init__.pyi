from .class_attributes import cost_sensitive_svm as cost_sensitive_svm
from .class_attributes import move_margin as move_margin
from .class_attributes import best_delta as best_delta
from .class_attributes import predicted_scores as predicted_scores
from .logit_adjustment import fit_adjustment as fit_adjustment
from .dropped_deltas import dropped_moments as dropped_moments
from .dropped_deltas import least_error_divisor as least_error_divisor
from .dropped_deltas import dropped_bound as dropped_bound
from .dropped_deltas import worst_violations as worst_violations
from .fair_embeddings import distance_gaps as distance_gaps
from .fair_embeddings import equalizing_metric as equalizing_metric
from .fair_embeddings import common_shift_metric as common_shift_metric
from .fair_embeddings import lossless_metric as lossless_metric
from .fair_embeddings import without_directions as without_directions
from .associative_memory import widest_memory as widest_memory
from .associative_memory import circle_memory as circle_memory
from .associative_memory import stored_probability as stored_probability
from .associative_memory import stored_fractions as stored_fractions
from .pruning import prune_matrix as prune_matrix

__all__ = [
    "cost_sensitive_svm",
    "move_margin",
    "best_delta",
    "predicted_scores",
    "fit_adjustment",
    "dropped_moments",
    "least_error_divisor",
    "dropped_bound",
    "worst_violations",
    "distance_gaps",
    "equalizing_metric",
    "common_shift_metric",
    "lossless_metric",
    "without_directions",
    "widest_memory",
    "circle_memory",
    "stored_probability",
    "stored_fractions",
    "prune_matrix",
]
