from .distillation import flow_filter as flow_filter
from .distillation import student_filter as student_filter
from .distillation import effective_time as effective_time
from .sharpness_aware import train_to_losses as train_to_losses
from .explanations import tangent_fidelity as tangent_fidelity
from .neighbourhoods import gaussian_overlap as gaussian_overlap
from .explanations import mirrored_fidelity as mirrored_fidelity

__all__ = [
    "flow_filter",
    "student_filter",
    "effective_time",
    "train_to_losses",
    "tangent_fidelity",
    "gaussian_overlap",
    "mirrored_fidelity",
]
