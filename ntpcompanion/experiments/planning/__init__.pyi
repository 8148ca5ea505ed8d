from . import pause_tokens as pause_tokens
from . import path_star as path_star
from . import path_star_graph as path_star_graph

__all__ = [
    "pause_tokens",
    "path_star",
    "path_star_graph",
]
