from . import local_capacity as local_capacity
from . import last_layer_widths as last_layer_widths
