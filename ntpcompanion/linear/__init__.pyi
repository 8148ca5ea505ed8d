from .tables.contexts import ContextTable as ContextTable
from .separability.compatibility import check_compatibility as check_compatibility
from .separability.decision import check_separability as check_separability
from .separability.decision import Verdict as Verdict
from .separability.implied_table import implied_table as implied_table
from .separability.ties import project_onto_F as project_onto_F
from .svm.next_token_svm import solve_ntp_svm as solve_ntp_svm
from .svm.next_token_svm import certified_gap as certified_gap
from .svm.margin_programs import constraint_pairs as constraint_pairs
from .dynamics.descent import descend as descend
from .dynamics.descent import step_bound as step_bound
from .dynamics.any_flow import gradient_flow as gradient_flow
from .dynamics.regularization_path import regularization_path as regularization_path
from .dynamics.alignment import measure_alignment as measure_alignment
from .dynamics.alignment import cosine_distance as cosine_distance
from .dynamics.decomposed_loss import DecomposedLoss as DecomposedLoss
from .dynamics.excess_bounds import excess_bound as excess_bound
from .thresholds.threshold import predicted_threshold as predicted_threshold
from .tables.autoregressive import recurrent_states as recurrent_states
from .tables.autoregressive import flatten_sequences as flatten_sequences
from .separability.exact_solutions import solve_exactly as solve_exactly
from .separability.pair_certificate import find_pair_certificate as find_pair_certificate
from .svm.planar_examples import planar_tables as planar_tables
from .svm.planar_examples import widest_margin as widest_margin
from .dynamics.excess_bounds import excess_lower_bound as excess_lower_bound

__all__ = [
    "ContextTable",
    "check_compatibility",
    "check_separability",
    "Verdict",
    "implied_table",
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
    "DecomposedLoss",
    "excess_bound",
    "predicted_threshold",
    "recurrent_states",
    "flatten_sequences",
    "solve_exactly",
    "find_pair_certificate",
    "planar_tables",
    "widest_margin",
    "excess_lower_bound",
]
