from . import margin_attributes as margin_attributes
from . import adjusted_classes as adjusted_classes
from . import group_components as group_components
from . import pruned_finetuning as pruned_finetuning
from .dropped_effects import METHODS as METHODS
from .dropped_effects import DroppedEffects as DroppedEffects

__all__ = [
    "margin_attributes",
    "adjusted_classes",
    "group_components",
    "pruned_finetuning",
    "METHODS",
    "DroppedEffects",
]
