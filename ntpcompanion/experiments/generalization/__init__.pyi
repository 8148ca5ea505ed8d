from . import hyperspheres as hyperspheres
from . import disagreement_mlp as disagreement_mlp
from . import xor_steps as xor_steps
from . import residual_risks as residual_risks
from . import width_memorization as width_memorization
from . import digit_memorization as digit_memorization

__all__ = [
    "hyperspheres",
    "disagreement_mlp",
    "xor_steps",
    "residual_risks",
    "width_memorization",
    "digit_memorization",
]
