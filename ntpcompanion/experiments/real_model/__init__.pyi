from . import state_dimensions as state_dimensions
from . import output_matrix as output_matrix
from . import support_collapse as support_collapse
from . import real_flatness as real_flatness

__all__ = ["state_dimensions", "output_matrix", "support_collapse", "real_flatness"]
