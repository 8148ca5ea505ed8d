from .effects import mean_effect as mean_effect
from .effects import paired_effect as paired_effect
from .effects import slope_within_seeds as slope_within_seeds
from .power import verdict_on as verdict_on
from .power import seeds_needed as seeds_needed
from .success_rates import count_successes as count_successes
from .power import verdict_probabilities as verdict_probabilities
from .build_drift import BuildHistory as BuildHistory
from .timings import Benchmarks as Benchmarks

__all__ = [
    "mean_effect",
    "paired_effect",
    "slope_within_seeds",
    "verdict_on",
    "seeds_needed",
    "count_successes",
    "verdict_probabilities",
    "BuildHistory",
    "Benchmarks",
]
