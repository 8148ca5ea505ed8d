from . import both_verdicts as both_verdicts
from . import descent_rates as descent_rates
from . import flow_limits as flow_limits
from . import held_out_contexts as held_out_contexts
from . import least_norm as least_norm
from . import own_margins as own_margins
from . import planted_teachers as planted_teachers
from . import small_limits as small_limits
from . import smoothed_limits as smoothed_limits
from . import stochastic_limits as stochastic_limits
from . import word_directions as word_directions

__all__ = [
    "both_verdicts",
    "descent_rates",
    "flow_limits",
    "held_out_contexts",
    "least_norm",
    "own_margins",
    "planted_teachers",
    "small_limits",
    "smoothed_limits",
    "stochastic_limits",
    "word_directions",
]
