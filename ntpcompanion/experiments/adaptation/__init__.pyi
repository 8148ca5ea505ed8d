from . import margin_attributes as margin_attributes
from . import adjusted_classes as adjusted_classes
from . import group_components as group_components
from . import pruned_finetuning as pruned_finetuning
from . import fair_minilm as fair_minilm
from . import shifted_contents as shifted_contents
from .fair_effects import FairEffects as FairEffects
from .dropped_effects import METHODS as METHODS
from .dropped_effects import DroppedEffects as DroppedEffects
from . import pruned_transformer as pruned_transformer
from . import pruned_recall as pruned_recall
from .pruned_effects import ASKED as ASKED
from .pruned_effects import PrunedNetworks as PrunedNetworks
from .pruned_effects import PrunedAnswers as PrunedAnswers

__all__ = [
    "margin_attributes",
    "adjusted_classes",
    "group_components",
    "pruned_finetuning",
    "fair_minilm",
    "shifted_contents",
    "FairEffects",
    "METHODS",
    "DroppedEffects",
    "pruned_transformer",
    "pruned_recall",
    "ASKED",
    "PrunedNetworks",
    "PrunedAnswers",
]
