from . import exact_conditionals as exact_conditionals
from . import text_contexts as text_contexts
