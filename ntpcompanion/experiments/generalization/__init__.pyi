from . import hyperspheres as hyperspheres
from . import disagreement_mlp as disagreement_mlp
from . import xor_steps as xor_steps

__all__ = [
    "hyperspheres",
    "disagreement_mlp",
    "xor_steps",
]
