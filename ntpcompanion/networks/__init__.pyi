from .network_plan import ModelPlan as ModelPlan
from .network_plan import TransformerSize as TransformerSize
from .build_network import build_model as build_model
from .build_network import parameters_of as parameters_of
from .language_model import LanguageModel as LanguageModel
from .transformer import Transformer as Transformer
from .lstm import BidirectionalLSTM as BidirectionalLSTM
from .stack import Stack as Stack
from .stack import initial_stack as initial_stack
from .stack import stack_models as stack_models

__all__ = [
    "ModelPlan",
    "TransformerSize",
    "build_model",
    "parameters_of",
    "LanguageModel",
    "Transformer",
    "BidirectionalLSTM",
    "Stack",
    "initial_stack",
    "stack_models",
]
