from . import geometry_text as geometry_text
from . import geometry_transformer as geometry_transformer
from . import contrastive_starts as contrastive_starts

__all__ = [
    "geometry_text",
    "geometry_transformer",
    "contrastive_starts",
]
