from .disagreement import compare_disagreement as compare_disagreement
from .residual_memory import fit_residual_memory as fit_residual_memory
from .residual_memory import excess_risk as excess_risk
from .distillation import flow_filter as flow_filter
from .distillation import student_filter as student_filter
from .distillation import effective_time as effective_time
from .sharpness_aware import train_to_losses as train_to_losses
from .memorization import random_subsets as random_subsets
from .memorization import memorization_scores as memorization_scores
from .memorization import nearest_neighbour_scores as nearest_neighbour_scores
from .min_norm import min_norm_predictions as min_norm_predictions
from .min_norm import leave_one_out_predictions as leave_one_out_predictions
from .uniform_convergence import LinearProblem as LinearProblem
from .explanations import tangent_fidelity as tangent_fidelity
from .explanations import mirrored_fidelity as mirrored_fidelity
from .neighbourhoods import gaussian_overlap as gaussian_overlap
from .xor import population_step as population_step
from .xor import gradient_step as gradient_step
from .xor import sgd_path as sgd_path

__all__ = [
    "compare_disagreement",
    "fit_residual_memory",
    "excess_risk",
    "flow_filter",
    "student_filter",
    "effective_time",
    "train_to_losses",
    "random_subsets",
    "memorization_scores",
    "nearest_neighbour_scores",
    "min_norm_predictions",
    "leave_one_out_predictions",
    "LinearProblem",
    "tangent_fidelity",
    "mirrored_fidelity",
    "gaussian_overlap",
    "population_step",
    "gradient_step",
    "sgd_path",
]
