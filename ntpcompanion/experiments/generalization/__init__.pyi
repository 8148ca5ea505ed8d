from . import hyperspheres as hyperspheres
from . import disagreement_mlp as disagreement_mlp

__all__ = [
    "hyperspheres",
    "disagreement_mlp",
]
