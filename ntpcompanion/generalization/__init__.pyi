from .disagreement import compare_disagreement as compare_disagreement
from .stacked_mlp import draw_stacked_mlp as draw_stacked_mlp
from .stacked_mlp import train_stacked_mlp as train_stacked_mlp
from .residual_memory import fit_residual_memory as fit_residual_memory
from .residual_memory import excess_risk as excess_risk
from .xor import population_step as population_step
from .xor import gradient_step as gradient_step
from .xor import sgd_path as sgd_path

__all__ = [
    "compare_disagreement",
    "draw_stacked_mlp",
    "train_stacked_mlp",
    "fit_residual_memory",
    "excess_risk",
    "population_step",
    "gradient_step",
    "sgd_path",
]
