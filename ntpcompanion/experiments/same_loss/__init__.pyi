from . import pretraining as pretraining
from . import downstream as downstream
from . import lookup_columns as lookup_columns
from . import penalized_traces as penalized_traces
from . import study_table as study_table

__all__ = [
    "pretraining",
    "downstream",
    "lookup_columns",
    "penalized_traces",
    "study_table",
]
