from .language_plans import HMMPlan as HMMPlan
from .language_plans import PCFGPlan as PCFGPlan
from .named_plans import LANGUAGE_PLANS as LANGUAGE_PLANS
from .blind import context_gaps as context_gaps
from .plan import TrainingPlan as TrainingPlan
from .train import train as train
from .stacked_training import trained_stack as trained_stack
from .data import batch_generator as batch_generator
from .data import draw_batch as draw_batch
from .evaluate import draw_test_set as draw_test_set
from .evaluate import evaluate as evaluate
from .evaluate import SATURATED as SATURATED
from .block_predictor import block_divergence as block_divergence
from .tasks import draw_task as draw_task
from .probe import linear_probe as linear_probe
from .converged_probe import ConvergedProbe as ConvergedProbe
from .converged_probe import probe_stack as probe_stack
from .traces import measured_traces as measured_traces
from .rescaling import rescale as rescale
from .enlarge import enlarge as enlarge

__all__ = [
    "HMMPlan",
    "PCFGPlan",
    "LANGUAGE_PLANS",
    "context_gaps",
    "TrainingPlan",
    "train",
    "trained_stack",
    "batch_generator",
    "draw_batch",
    "draw_test_set",
    "evaluate",
    "SATURATED",
    "block_divergence",
    "draw_task",
    "linear_probe",
    "ConvergedProbe",
    "probe_stack",
    "measured_traces",
    "rescale",
    "enlarge",
]
