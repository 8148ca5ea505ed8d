"""The look of every figure: width, colours by meaning, typeface."""

import functools
from pathlib import Path
from typing import Annotated, Any

import matplotlib as mpl
import seaborn as sns
from IPython.core.getipython import get_ipython
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.mathtext import MathTextParser
from matplotlib_inline.backend_inline import set_matplotlib_formats

from ntpcompanion.checks import Positive, Range, Size, checked
from ntpcompanion.plots.drawing.narrow_screens import METADATA, WIDTH, narrow_bundle

STYLED = "ntpcompanion"  # the `svg.hashsalt` of Matplotlib while this style is set
FONTS = Path(__file__).parents[1] / "fonts"
TYPEFACE = "Companion Sans"

# Axes, text and theory. In a plain notebook these colours stand as they are, so each reads on white
# and on black; on a page of the book each becomes a variable of the stylesheet, with one value for
# either theme (`workflow/pages/figures.py`).
INK = "#7a7a7a"

_BLUE, _ORANGE, _GREEN, _VERMILION, _PINK, _BROWN, *_, _SKY = sns.color_palette(
    "colorblind"
).as_hex()

# One colour per meaning, in the whole book.
IN_SUPPORT = _BLUE
OUT_OF_SUPPORT = _ORANGE
MEASUREMENT = _GREEN
PAPER = _PINK
CONTRAST = _VERMILION  # a second measured quantity beside MEASUREMENT
THEORY = INK
FURTHER = (_BROWN, _SKY)  # a third and a fourth measured quantity

_DARK, _LIGHT = (0x3B, 0x2A, 0x7A), (0x9A, 0x86, 0xD8)  # the ends of a ramp
_CACHED_FORMULAS = 1000  # those of the largest chapter are a tenth
# what a parser makes, and by which name it is asked for
_NAMES: dict[str, Any] = {"vector": "path", "raster": "agg"}


def use_style() -> None:
    """Set matplotlib's defaults for the book, and SVG figures in a notebook. The first `figure`
    calls it; call it before a figure that is made otherwise.

    Transparent background, mid-grey ink, 9.5-point text in the typeface of the pages, which stays
    text in the SVG; equal bytes for equal figures. In a notebook each figure also carries its
    narrow version, which the book shows on a phone.
    """
    for path in sorted(FONTS.glob("*.ttf")):
        font_manager.fontManager.addfont(path)
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
            "svg.hashsalt": STYLED,
            **_typeface(),
        }
    )
    keep_formulas()
    shell = get_ipython()
    if shell is not None and shell.display_formatter is not None:
        set_matplotlib_formats("svg", bbox_inches=None, metadata=METADATA)
        shell.display_formatter.mimebundle_formatter.for_type(Figure, narrow_bundle)


def _typeface() -> dict[Any, Any]:
    upright = dict.fromkeys(("mathtext.rm", "mathtext.sf", "mathtext.tt"), TYPEFACE)
    slanted = dict.fromkeys(("mathtext.it", "mathtext.cal"), f"{TYPEFACE}:italic")
    return {
        "font.family": "sans-serif",
        "font.sans-serif": [TYPEFACE],
        "svg.fonttype": "none",  # text stays text
        "mathtext.fontset": "custom",
        "mathtext.fallback": "stixsans",  # its signs have the codes of Unicode, as a page needs
        **upright,
        **slanted,
        **dict.fromkeys(("mathtext.bf", "mathtext.bfit"), f"{TYPEFACE}:semibold"),
    }


@checked
def figure(ncols: Size = 1, height: Positive = 2.8) -> tuple[Figure, list[Axes]]:
    """A figure as wide as the page, with one row of panels, in the style of `use_style`.

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

    Raises
    ------
    ValueError
        a number of panels below 1, a height that is not positive.
    """
    from matplotlib import pyplot

    if mpl.rcParams["svg.hashsalt"] != STYLED:
        use_style()
    fig, axes = pyplot.subplots(1, ncols, figsize=(WIDTH, height), squeeze=False)
    if "inline" in mpl.get_backend():
        pyplot.uninstall_repl_displayhook()  # it draws all figures once more, for nobody
    return fig, list(axes[0])


@checked
def ramp(n: Annotated[int, Range(1, 9, "(more shades of one colour look alike)")]) -> list[str]:
    """Colours of an ordered parameter such as a batch size or a temperature.

    Parameters
    ----------
    n
        how many, 1 to 9: beyond that neighbours look alike.

    Returns
    -------
    list of str
        `n` hexadecimal colours in equal steps from dark to light; of a single one the dark end.

    Raises
    ------
    ValueError
        `n` is not an integer, or outside of 1 to 9.

    Examples
    --------
    >>> from ntpcompanion.plots import ramp
    >>> ramp(3)
    ['#3b2a7a', '#6a58a9', '#9a86d8']
    """
    # hundredths of the way: the pages write a colour as a share of the two ends
    fractions = [round(100 * step / max(n - 1, 1)) / 100 for step in range(n)]
    return [
        "#"
        + "".join(f"{int(a + fraction * (b - a)):02x}" for a, b in zip(_DARK, _LIGHT, strict=True))
        for fraction in fractions
    ]


def keep_formulas() -> None:
    """Have Matplotlib remember more than the 50 formulas that it remembers within one drawing.

    Tick labels of logarithmic axes are formulas, and a page draws each figure five times: to set
    them anew would take a third of that, or more. What is drawn is the same.
    """
    method: Any = getattr(MathTextParser, "_parse_cached", None)
    # a name of Matplotlib's own: where it means something else, nothing is changed
    if not hasattr(method, "cache_info"):
        return
    by_itself = method.__wrapped__

    @functools.lru_cache(_CACHED_FORMULAS)
    def cached_parse(output: str, *arguments: object) -> object:
        return by_itself(MathTextParser(_NAMES[output]), *arguments)

    @functools.wraps(by_itself)
    def parse(self: Any, *arguments: object) -> object:
        return cached_parse(self._output_type, *arguments)

    MathTextParser._parse_cached = parse  # type: ignore[attr-defined]  # its stubs leave it out
