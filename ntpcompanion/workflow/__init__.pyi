from .claims.measure import measure as measure
from .claims.measure import glue_all as glue_all
from .records.show import show_record as show_record
from .base.files import read_sealed as read_sealed
