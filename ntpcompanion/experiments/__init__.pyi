from . import text_crossing as text_crossing
from . import shuffled_text as shuffled_text
from . import phase as phase
from . import weighted_tokens as weighted_tokens
from . import text_threshold as text_threshold
from . import adam_bias as adam_bias
from . import adam_limit as adam_limit
from . import pretraining as pretraining
from . import downstream as downstream
from .study_suite import SuitePlan as SuitePlan
from .interventions import Continued as Continued
from .interventions import Noise as Noise
from .interventions import Adversarial as Adversarial
from .interventions import Penalty as Penalty
from .interventions import Rescaled as Rescaled
from . import study_table as study_table
from .effects import paired_effect as paired_effect
from .effects import slope_within_seeds as slope_within_seeds
from .power import verdict_on as verdict_on
from .power import seeds_needed as seeds_needed

__all__ = [
    "text_crossing",
    "shuffled_text",
    "phase",
    "weighted_tokens",
    "text_threshold",
    "adam_bias",
    "adam_limit",
    "pretraining",
    "downstream",
    "SuitePlan",
    "Continued",
    "Noise",
    "Adversarial",
    "Penalty",
    "Rescaled",
    "study_table",
    "paired_effect",
    "slope_within_seeds",
    "verdict_on",
    "seeds_needed",
]
