from . import state_dimensions as state_dimensions
from . import output_matrix as output_matrix

__all__ = ["state_dimensions", "output_matrix"]
