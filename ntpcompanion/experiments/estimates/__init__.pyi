from .recorded_studies import EIGHT as EIGHT
from .recorded_studies import WIDER as WIDER
from .recorded_studies import keyed as keyed
from .recorded_studies import read_studies as read_studies
from .trace_effects import PRINTED_SLOPE as PRINTED_SLOPE
from .trace_effects import TraceEffects as TraceEffects
from .trace_effects import sgd_ratios as sgd_ratios
from .function_effects import DriftBounds as DriftBounds
from .function_effects import read_function_effects as read_function_effects
from .held_effects import read_held_effects as read_held_effects
from .equal_loss_effects import NETWORKS as NETWORKS
from .equal_loss_effects import EqualLossEffects as EqualLossEffects
from .real_model_effects import CollapseEffects as CollapseEffects
from .real_model_effects import RealModelEffects as RealModelEffects
from .real_flatness_effects import RealFlatnessEffects as RealFlatnessEffects
from .real_model_effects import example_table as example_table
from .real_model_effects import live_table as live_table
from . import loss_effects as loss_effects
from . import learning_curves as learning_curves

__all__ = [
    "EIGHT",
    "WIDER",
    "keyed",
    "read_studies",
    "PRINTED_SLOPE",
    "TraceEffects",
    "sgd_ratios",
    "DriftBounds",
    "read_function_effects",
    "read_held_effects",
    "NETWORKS",
    "EqualLossEffects",
    "CollapseEffects",
    "RealModelEffects",
    "RealFlatnessEffects",
    "example_table",
    "live_table",
    "loss_effects",
    "learning_curves",
]
