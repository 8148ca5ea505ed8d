from .data.language_plans import HMMPlan as HMMPlan
from .data.language_plans import PCFGPlan as PCFGPlan
from .data.named_plans import LANGUAGE_PLANS as LANGUAGE_PLANS
from .evaluation.context_ablation import context_gaps as context_gaps
from .training.training_plan import TrainingPlan as TrainingPlan
from .training.train import train as train
from .training.stacked_training import trained_stack as trained_stack
from .training.held_trace import HeldTracePlan as HeldTracePlan
from .data.masked_sentences import batch_generator as batch_generator
from .data.masked_sentences import draw_batch as draw_batch
from .evaluation.evaluate import draw_test_set as draw_test_set
from .evaluation.evaluate import evaluate as evaluate
from .evaluation.evaluate import SATURATED as SATURATED
from .evaluation.block_predictor import block_divergence as block_divergence
from .data.downstream_tasks import draw_task as draw_task
from .probes.probe import linear_probe as linear_probe
from .probes.converged_probe import ConvergedProbe as ConvergedProbe
from .curvature.traces import measured_traces as measured_traces
from .curvature.function_trace import function_traces as function_traces
from .curvature.rescaling import rescale as rescale
from .training.enlarge import enlarge as enlarge
from .data.named_plans import named as named

__all__ = [
    "HMMPlan",
    "PCFGPlan",
    "LANGUAGE_PLANS",
    "context_gaps",
    "TrainingPlan",
    "train",
    "trained_stack",
    "HeldTracePlan",
    "batch_generator",
    "draw_batch",
    "draw_test_set",
    "evaluate",
    "SATURATED",
    "block_divergence",
    "draw_task",
    "linear_probe",
    "ConvergedProbe",
    "measured_traces",
    "function_traces",
    "rescale",
    "enlarge",
    "named",
]
