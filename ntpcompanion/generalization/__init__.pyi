from .distillation import flow_filter as flow_filter
from .distillation import student_filter as student_filter
from .distillation import effective_time as effective_time
from .distillation import filter_risk as filter_risk
from .soft_training import train_on_probabilities as train_on_probabilities
from .soft_training import confidence_shift as confidence_shift

__all__ = [
    "flow_filter",
    "student_filter",
    "effective_time",
    "filter_risk",
    "train_on_probabilities",
    "confidence_shift",
]
