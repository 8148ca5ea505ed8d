from . import adam_bias as adam_bias
from . import adam_limit as adam_limit
from . import adam_rate as adam_rate

__all__ = [
    "adam_bias",
    "adam_limit",
    "adam_rate",
]
