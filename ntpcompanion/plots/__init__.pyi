from .style import use_style as use_style
from .style import figure as figure
from .style import IN_SUPPORT as IN_SUPPORT
from .style import OUT_OF_SUPPORT as OUT_OF_SUPPORT
from .style import MEASUREMENT as MEASUREMENT
from .style import PAPER as PAPER
from .style import CONTRAST as CONTRAST
from .style import THEORY as THEORY
from .style import ramp as ramp
from .lines import draw_theory as draw_theory
from .lines import draw_measured as draw_measured
from .lines import rate_axis as rate_axis
from .lines import draw_curves as draw_curves
from .text import label_line as label_line
from .download import csv_link as csv_link
from .widgets import widget as widget
from .tables import show_table as show_table
from .languages import draw_support_sizes as draw_support_sizes
from .languages import draw_one_hot as draw_one_hot
from .languages import draw_num_contexts as draw_num_contexts
from .languages import draw_floor as draw_floor
from .linear import draw_verdict_shares as draw_verdict_shares
from .linear import draw_excess as draw_excess
from .linear import draw_distributions as draw_distributions
from .linear import draw_plane as draw_plane
from .linear import draw_overlap as draw_overlap
from .flatness import draw_valley as draw_valley
from .flatness import draw_forces as draw_forces
from .dyck import draw_learning as draw_learning
from .dyck import draw_contributions as draw_contributions
from .dyck import draw_preactivations as draw_preactivations
from .dyck import draw_two_curvatures as draw_two_curvatures
from .downstream import draw_trace_plane as draw_trace_plane
from .downstream import draw_comparisons as draw_comparisons
from .downstream import draw_ladder as draw_ladder
from .planning import draw_path_star as draw_path_star
from .planning import draw_courses as draw_courses
from .planning import draw_success_map as draw_success_map

__all__ = [
    "use_style",
    "figure",
    "IN_SUPPORT",
    "OUT_OF_SUPPORT",
    "MEASUREMENT",
    "PAPER",
    "CONTRAST",
    "THEORY",
    "ramp",
    "draw_theory",
    "draw_measured",
    "rate_axis",
    "draw_curves",
    "label_line",
    "csv_link",
    "widget",
    "show_table",
    "draw_support_sizes",
    "draw_one_hot",
    "draw_num_contexts",
    "draw_floor",
    "draw_verdict_shares",
    "draw_excess",
    "draw_distributions",
    "draw_plane",
    "draw_overlap",
    "draw_valley",
    "draw_forces",
    "draw_learning",
    "draw_contributions",
    "draw_preactivations",
    "draw_two_curvatures",
    "draw_trace_plane",
    "draw_comparisons",
    "draw_ladder",
    "draw_path_star",
    "draw_courses",
    "draw_success_map",
]
