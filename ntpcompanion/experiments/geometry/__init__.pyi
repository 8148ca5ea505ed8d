from . import geometry_text as geometry_text
from . import geometry_transformer as geometry_transformer

__all__ = [
    "geometry_text",
    "geometry_transformer",
]
