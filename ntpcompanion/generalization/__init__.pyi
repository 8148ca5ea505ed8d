from .distillation import flow_filter as flow_filter
from .distillation import student_filter as student_filter
from .distillation import effective_time as effective_time
from .distillation import filter_risk as filter_risk
from .soft_training import train_on_probabilities as train_on_probabilities
from .soft_training import confidence_shift as confidence_shift
from .sharpness_aware import FeatureModel as FeatureModel
from .sharpness_aware import ascended as ascended
from .sharpness_aware import train_to_losses as train_to_losses
from .sharpness_aware import gini as gini
from .explanations import tangent_fidelity as tangent_fidelity
from .neighbourhoods import box_overlap as box_overlap
from .neighbourhoods import gaussian_overlap as gaussian_overlap
from .explanations import mirrored_fidelity as mirrored_fidelity

__all__ = [
    "flow_filter",
    "student_filter",
    "effective_time",
    "filter_risk",
    "train_on_probabilities",
    "confidence_shift",
    "FeatureModel",
    "ascended",
    "train_to_losses",
    "gini",
    "tangent_fidelity",
    "box_overlap",
    "gaussian_overlap",
    "mirrored_fidelity",
]
