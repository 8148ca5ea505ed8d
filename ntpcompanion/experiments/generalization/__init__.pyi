from . import hyperspheres as hyperspheres
from . import disagreement_mlp as disagreement_mlp
from . import xor_steps as xor_steps
from . import residual_risks as residual_risks
from . import width_memorization as width_memorization
from . import digit_memorization as digit_memorization
from . import distilled_filters as distilled_filters
from . import distilled_networks as distilled_networks
from . import disagreement_bounds as disagreement_bounds
from . import digits_disagreement as digits_disagreement
from . import feature_strengths as feature_strengths
from . import forest_explanations as forest_explanations
from . import explanation_bounds as explanation_bounds
from . import reversed_noise as reversed_noise

__all__ = [
    "hyperspheres",
    "disagreement_mlp",
    "xor_steps",
    "residual_risks",
    "width_memorization",
    "digit_memorization",
    "distilled_filters",
    "distilled_networks",
    "disagreement_bounds",
    "digits_disagreement",
    "feature_strengths",
    "forest_explanations",
    "explanation_bounds",
    "reversed_noise",
]
