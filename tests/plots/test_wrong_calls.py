"""Every argument of what draws, wrong in every way that a user may get it wrong."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ntpcompanion import plots
from ntpcompanion.dyck.bracket_counting import LearningCurve
from ntpcompanion.languages import count_contexts
from tests.mistakes import FRAME, wrong_calls

AX = Figure().add_subplot()
CURVE = LearningCurve(np.array([1, 2]), np.ones(2), np.ones(2), np.ones(2), np.ones(2))
XY = {"ax": AX, "x": [1, 2, 3], "y": [1, 2, 3]}
COUNTS = {"ax": AX, "counts": count_contexts(np.array([0, 1, 2, 0, 1]), 3, [0, 1])}
SHARES = pd.DataFrame(0.5, range(2), ["d/m", "compatible", "separable", "undecided"])
PLANE = pd.DataFrame(1.0, range(2), ["kind", "strength", "seed", "log_trace", "points"])
ROWS = pd.DataFrame(1.0, range(1), ["label", "paper", "value", "low", "high", "delta"])


def excess(points):
    return (points[:, 0] * points[:, 1] - 1) ** 2


RIGHT = {
    "csv_link": (plots.csv_link, {"frame": FRAME, "filename": "a.csv"}),
    "show_table": (plots.show_table, {"frame": FRAME}),
    "widget": (plots.widget, {"name": "x", "data": {"a": 1}, "picture": Figure, "alt": "a"}),
    "rate_axis": (plots.rate_axis, {"ax": AX, "rates": [0.1, 0.2]}),
    "draw_theory": (plots.draw_theory, XY),
    "draw_measured": (plots.draw_measured, XY),
    "draw_means": (plots.draw_means, {"ax": AX, "x": [1, 2, 3], "values": np.eye(3)}),
    "draw_curves": (plots.draw_curves, {"ax": AX, "frame": FRAME}),
    "label_line": (plots.label_line, {"ax": AX, "line": AX.plot([1, 2])[0], "text": "a"}),
    "draw_support_sizes": (plots.draw_support_sizes, COUNTS),
    "draw_one_hot": (plots.draw_one_hot, COUNTS),
    "draw_num_contexts": (plots.draw_num_contexts, COUNTS),
    "draw_floor": (plots.draw_floor, COUNTS),
    "draw_verdict_shares": (plots.draw_verdict_shares, {"ax": AX, "frame": SHARES, "draws": 9}),
    "draw_excess": (
        plots.draw_excess,
        {"ax": AX, "gamma": [1, 2, 3], "excess": [1, 2, 3], "bound": [1, 2, 3]},
    ),
    "draw_distributions": (plots.draw_distributions, {"ax": AX, "distributions": np.eye(2)}),
    "draw_plane": (
        plots.draw_plane,
        {"ax": AX, "contexts": np.ones((3, 2)), "words": np.ones((4, 2))},
    ),
    "draw_overlap": (plots.draw_overlap, {"ax": AX, "overlap": [1, 2, 3], "cosine": [1, 2, 3]}),
    "draw_valley": (
        plots.draw_valley,
        {"ax": AX, "excess": lambda: excess, "path": None, "reach": (-1, 1, -1, 1)},
    ),
    "draw_forces": (
        plots.draw_forces,
        {
            "ax": AX,
            "excess": lambda: excess,
            "minimizers": np.ones((2, 2)),
            "distance": 0.1,
            "enlarged": 2.0,
        },
    ),
    "draw_learning": (plots.draw_learning, {"ax": AX, "curves": {"a": CURVE}}),
    "draw_contributions": (
        plots.draw_contributions,
        {"ax": AX, "contributions": np.ones((3, 2)), "kinks": np.zeros((3, 2)), "largest": 1.0},
    ),
    "draw_preactivations": (plots.draw_preactivations, {"ax": AX, "values": np.ones((3, 2))}),
    "draw_two_curvatures": (
        plots.draw_two_curvatures,
        {"ax": AX, "steps": [-1, 0, 1], "losses": [1, 0, 1], "sides": (1.0, 2.0)},
    ),
    "draw_trace_plane": (plots.draw_trace_plane, {"ax": AX, "frame": PLANE}),
    "draw_comparisons": (plots.draw_comparisons, {"ax": AX, "table": ROWS}),
    "draw_ladder": (plots.draw_ladder, {"ax": AX, "rows": {"a": 1.0, "b": 2.0}}),
}
WRONG = """
csv_link: frame=text filename=text
show_table: frame=text digits=size errors=function
widget: name=text data=function picture=text alt=text
rate_axis: ax=axes rates=vector
draw_theory: ax=axes x=series y=series
draw_measured: ax=axes x=series y=series colour=look marker=look
draw_means: ax=axes x=series values=matrix colour=look marker=look
draw_curves: ax=axes frame=text index=index style=choice offsets=pair
label_line: ax=axes line=text text=text index=index offset=pair
draw_support_sizes: ax=axes counts=counts
draw_one_hot: ax=axes counts=counts
draw_num_contexts: ax=axes counts=counts
draw_floor: ax=axes counts=counts
draw_verdict_shares: ax=axes frame=frame draws=size
draw_excess: ax=axes gamma=series excess=series bound=series
draw_distributions: ax=axes distributions=matrix
draw_plane: ax=axes contexts=matrix words=matrix
draw_overlap: ax=axes overlap=series cosine=series
draw_valley: ax=axes excess=function reach=pair
draw_forces: ax=axes excess=function minimizers=matrix distance=positive enlarged=number
draw_learning: ax=axes curves=function
draw_contributions: ax=axes contributions=matrix kinks=matrix largest=positive
draw_preactivations: ax=axes values=matrix
draw_two_curvatures: ax=axes steps=series losses=series sides=pair
draw_trace_plane: ax=axes frame=frame printed_slope=number
draw_comparisons: ax=axes table=frame
draw_ladder: ax=axes rows=text
"""


test_a_wrong_argument_is_named_in_a_sentence = wrong_calls(WRONG, RIGHT)
