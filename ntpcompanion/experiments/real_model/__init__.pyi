from . import state_dimensions as state_dimensions
from . import output_matrix as output_matrix
from . import real_flatness as real_flatness
from . import sampled_language as sampled_language
from . import learned_language as learned_language
from . import saturated_language as saturated_language
from . import support_collapse as support_collapse
