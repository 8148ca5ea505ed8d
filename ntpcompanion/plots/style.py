"""The look of every figure: width, colours by meaning, fonts."""

import matplotlib as mpl
import seaborn as sns
from IPython.core.getipython import get_ipython
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib_inline.backend_inline import set_matplotlib_formats

WIDTH = 6.5  # inches: the text column of a page

# Axes, text and theory: a grey that reads on white and on the dark page (contrast above 4 on both).
INK = "#7a7a7a"

_BLUE, _ORANGE, _GREEN, _VERMILION, _PINK = sns.color_palette("colorblind").as_hex()[:5]

# One colour per meaning, in the whole book.
IN_SUPPORT = _BLUE
OUT_OF_SUPPORT = _ORANGE
MEASUREMENT = _GREEN
PAPER = _PINK
CONTRAST = _VERMILION  # a second measured quantity beside MEASUREMENT
THEORY = INK


def use_style() -> None:
    """Set matplotlib's defaults for the book, and SVG figures in a notebook. Call it once, before
    the first figure.

    Transparent background, mid-grey ink, 9-point text, equal bytes for equal figures.
    """
    sns.set_theme(style="ticks", palette="colorblind")
    mpl.rcParams.update(
        {
            **dict.fromkeys(
                ("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"),
                "none",
            ),
            **dict.fromkeys(
                (
                    "text.color",
                    "axes.labelcolor",
                    "axes.titlecolor",
                    "axes.edgecolor",
                    "xtick.color",
                    "ytick.color",
                ),
                INK,
            ),
            **dict.fromkeys(
                ("font.size", "axes.labelsize", "axes.titlesize", "legend.fontsize"), 9.5
            ),
            **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), 9.0),
            **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
            **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.8),
            "axes.titlelocation": "left",
            "lines.linewidth": 1.6,
            "lines.markersize": 5,
            "figure.constrained_layout.use": True,
            "svg.hashsalt": "ntpcompanion",
        }
    )
    if get_ipython() is not None:
        set_matplotlib_formats("svg", bbox_inches=None, metadata={"Date": None})


def figure(ncols: int = 1, height: float = 2.8) -> tuple[Figure, list[Axes]]:
    """A figure as wide as the page, with one row of panels.

    Parameters
    ----------
    ncols
        how many panels.
    height
        in inches.

    Returns
    -------
    tuple of Figure and list of Axes
        the figure, and its panels from left to right: a list, also of a single one.
    """
    from matplotlib import pyplot

    fig, axes = pyplot.subplots(1, ncols, figsize=(WIDTH, height), squeeze=False)
    return fig, list(axes[0])
