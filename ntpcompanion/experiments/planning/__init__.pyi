from . import pause_tokens as pause_tokens
from . import pause_width as pause_width
from . import path_star as path_star
from . import path_star_graph as path_star_graph
from . import path_star_orders as path_star_orders
from . import path_star_rules as path_star_rules
from . import path_star_records as path_star_records
