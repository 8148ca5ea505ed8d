from . import pretraining as pretraining
from . import downstream as downstream
from . import lookup_columns as lookup_columns
from . import penalized_traces as penalized_traces
from . import held_traces as held_traces
from . import equal_loss as equal_loss
from . import bottleneck_ranks as bottleneck_ranks
from . import study_table as study_table
from . import comparisons as comparisons
from .study_evidence import sgd_excess as sgd_excess
from .study_evidence import with_interval as with_interval
from .study_table import read_study as read_study

__all__ = [
    "pretraining",
    "downstream",
    "lookup_columns",
    "penalized_traces",
    "held_traces",
    "equal_loss",
    "bottleneck_ranks",
    "study_table",
    "comparisons",
    "sgd_excess",
    "with_interval",
    "read_study",
]
