from .claims.measure import measure as measure
from .records.show import show_record as show_record

__all__ = [
    "measure",
    "show_record",
]
