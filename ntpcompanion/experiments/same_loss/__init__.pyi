from . import pretraining as pretraining
from . import downstream as downstream
from . import lookup_columns as lookup_columns
from . import penalized_traces as penalized_traces
from . import equal_loss as equal_loss
from . import bottleneck_ranks as bottleneck_ranks
from . import study_table as study_table

__all__ = [
    "pretraining",
    "downstream",
    "lookup_columns",
    "penalized_traces",
    "equal_loss",
    "bottleneck_ranks",
    "study_table",
]
