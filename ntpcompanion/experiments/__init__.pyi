from . import text_crossing as text_crossing
from . import shuffled_text as shuffled_text
from . import phase as phase
from . import weighted_tokens as weighted_tokens
from . import text_threshold as text_threshold
from . import adam_bias as adam_bias
from . import adam_limit as adam_limit
from . import adam_rate as adam_rate
from . import geometry_text as geometry_text
from . import geometry_transformer as geometry_transformer
from . import pretraining as pretraining
from . import downstream as downstream
from . import lookup_columns as lookup_columns
from . import pause_tokens as pause_tokens
from . import path_star as path_star
from . import path_star_graph as path_star_graph
from . import hyperspheres as hyperspheres
from . import least_width as least_width
from . import large_svm as large_svm
from . import large_descent as large_descent
from . import disagreement_mlp as disagreement_mlp
from .path_star_runs import runs_table as runs_table
from .path_star_runs import course_table as course_table
from .successes import count_successes as count_successes
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
    "adam_rate",
    "geometry_text",
    "geometry_transformer",
    "pretraining",
    "downstream",
    "lookup_columns",
    "pause_tokens",
    "path_star",
    "path_star_graph",
    "hyperspheres",
    "least_width",
    "large_svm",
    "large_descent",
    "disagreement_mlp",
    "runs_table",
    "course_table",
    "count_successes",
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
