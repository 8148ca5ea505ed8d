from . import text_crossing as text_crossing
from . import shuffled_text as shuffled_text
from . import phase as phase
from . import weighted_tokens as weighted_tokens
from . import text_threshold as text_threshold
from . import least_width as least_width
from . import random_tables as random_tables
from . import unlike_tokens as unlike_tokens
