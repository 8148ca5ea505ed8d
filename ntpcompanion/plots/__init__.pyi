from .drawing.style import use_style as use_style
from .drawing.style import figure as figure
from .drawing.style import IN_SUPPORT as IN_SUPPORT
from .drawing.style import OUT_OF_SUPPORT as OUT_OF_SUPPORT
from .drawing.style import MEASUREMENT as MEASUREMENT
from .drawing.style import PAPER as PAPER
from .drawing.style import CONTRAST as CONTRAST
from .drawing.style import FURTHER as FURTHER
from .drawing.style import THEORY as THEORY
from .drawing.style import ramp as ramp
from .drawing.lines import draw_theory as draw_theory
from .drawing.lines import draw_measured as draw_measured
from .drawing.means import draw_means as draw_means
from .drawing.lines import set_ticks as set_ticks
from .drawing.lines import rate_axis as rate_axis
from .drawing.lines import draw_curves as draw_curves
from .drawing.labels import label_line as label_line
from .drawing.download import csv_link as csv_link
from .drawing.widget import widget as widget
from .drawing.tables import show_table as show_table
from .text_figures import draw_support_sizes as draw_support_sizes
from .text_figures import draw_one_hot as draw_one_hot
from .text_figures import draw_num_contexts as draw_num_contexts
from .text_figures import draw_floor as draw_floor
from .linear_figures import draw_verdict_shares as draw_verdict_shares
from .linear_figures import draw_excess as draw_excess
from .linear_figures import draw_distributions as draw_distributions
from .linear_figures import draw_plane as draw_plane
from .linear_figures import draw_overlap as draw_overlap
from .flatness_figures import draw_valley as draw_valley
from .flatness_figures import draw_forces as draw_forces
from .dyck_figures import draw_learning as draw_learning
from .dyck_figures import draw_contributions as draw_contributions
from .dyck_figures import draw_preactivations as draw_preactivations
from .dyck_figures import draw_two_curvatures as draw_two_curvatures
from .same_loss_figures import draw_trace_plane as draw_trace_plane
from .same_loss_figures import draw_comparisons as draw_comparisons
from .same_loss_figures import draw_ladder as draw_ladder
from .planning_figures import draw_path_star as draw_path_star
from .planning_figures import draw_courses as draw_courses
from .planning_figures import draw_success_map as draw_success_map
from .linear_figures import draw_decoder_parts as draw_decoder_parts
from .linear_figures import draw_prediction as draw_prediction
from .linear_figures import draw_cone as draw_cone
from .drawing.labels import visible as visible
from .drawing.placement import label_points as label_points
from .sparse_table import draw_text_table as draw_text_table
from .text_figures import survival_table as survival_table

__all__ = [
    "use_style",
    "figure",
    "IN_SUPPORT",
    "OUT_OF_SUPPORT",
    "MEASUREMENT",
    "PAPER",
    "CONTRAST",
    "FURTHER",
    "THEORY",
    "ramp",
    "draw_theory",
    "draw_measured",
    "draw_means",
    "set_ticks",
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
    "draw_decoder_parts",
    "draw_prediction",
    "draw_cone",
    "visible",
    "label_points",
    "draw_text_table",
    "survival_table",
]
