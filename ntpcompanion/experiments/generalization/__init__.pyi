from . import hyperspheres as hyperspheres
from . import disagreement_mlp as disagreement_mlp
from . import xor_steps as xor_steps
from . import residual_risks as residual_risks

__all__ = [
    "hyperspheres",
    "disagreement_mlp",
    "xor_steps",
    "residual_risks",
]
