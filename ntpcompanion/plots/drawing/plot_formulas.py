"""Formulas of figures, each set once."""

import functools
from typing import Any

from matplotlib.mathtext import MathTextParser

_KEPT = 1000  # formulas: those of the largest chapter are a tenth
# what a parser makes, and by which name it is asked for
_NAMES: dict[str, Any] = {"vector": "path", "raster": "agg"}


def keep_formulas() -> None:
    """Have Matplotlib remember the formulas that it has set, from one drawing to the next.

    By itself it remembers 50, and only while a figure is drawn once. The tick labels of logarithmic
    axes are formulas, and a page measures and draws each figure five times: to set them anew would
    take a third of that, or more. What is drawn is the same.
    """
    method: Any = getattr(MathTextParser, "_parse_cached", None)
    # a name of Matplotlib's own: where it means something else, nothing is changed
    if not hasattr(method, "cache_info"):
        return
    by_itself = method.__wrapped__

    @functools.lru_cache(_KEPT)
    def kept(output: str, *arguments: object) -> object:
        return by_itself(MathTextParser(_NAMES[output]), *arguments)

    @functools.wraps(by_itself)
    def parse(self: Any, *arguments: object) -> object:
        return kept(self._output_type, *arguments)

    MathTextParser._parse_cached = parse  # type: ignore[attr-defined]  # its stubs leave it out
