"""A figure that a reader of the book touches: data that a script of the page draws, and the picture
that stands for it without scripts and in print.
"""

import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Annotated

import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure

from ntpcompanion.checks import Is, checked


@dataclass(frozen=True, eq=False)
class Widget:
    """An interactive figure: `name` is that of its script, `data` what the script reads as JSON,
    `picture` an SVG with the text `alt`.
    """

    name: str
    data: Mapping[str, object]
    picture: str
    alt: str

    def __repr__(self) -> str:
        return f"interactive figure {self.name}: {self.alt}"

    def _repr_html_(self) -> str:
        # in a script only `<` could end it; no parser of JSON minds the escape
        inlined = json.dumps(self.data, allow_nan=False, separators=(",", ":"))
        inlined = inlined.replace("<", "\\u003c")
        return (
            f'<figure class="ntp-widget" data-widget="{self.name}">'
            f'<div class="ntp-widget-picture" role="img" aria-label="{escape(self.alt)}">'
            f"{self.picture}</div>"
            f'<script type="application/json">{inlined}</script></figure>'
        )


@checked
def widget(
    name: Annotated[
        str,
        Is(
            re.compile("[a-z][a-z0-9_]*").fullmatch,
            "consist of lower-case letters, digits and underscores",
        ),
    ],
    data: Annotated[
        Mapping[str, object],
        Is(lambda data: all(isinstance(key, str) for key in data), "have texts as keys"),
    ],
    *,
    picture: Figure,
    alt: Annotated[str, Is(str.strip, "say in words what the picture shows")],
) -> Widget:
    """An interactive figure, for the last line of a notebook's cell. In a notebook its picture is
    shown; on a page of the book the script `book/assets/widgets/NAME.js` draws it from the data.

    Parameters
    ----------
    name
        of the script: lower-case letters, digits and underscores.
    data
        what the script reads: None, booleans, finite numbers, strings, arrays, and sequences of
        such and mappings from strings to such.
    picture
        what is shown without scripts and in print. It is closed, so that it is not shown twice.
    alt
        what the picture shows, in words, for readers who do not see it.

    Returns
    -------
    Widget
        what a notebook shows as a figure.

    Raises
    ------
    ValueError
        if no script has the name, `alt` is not text or empty, `picture` is not a figure, or
        the data are not a dict or hold a number that is not finite.
    TypeError
        if the data hold anything else that is not JSON.
    """
    plain = {key: _plain(value, f"data[{key!r}]") for key, value in data.items()}
    return Widget(name, plain, _svg(picture, f"ntp-{name}"), alt)


def _plain(value: object, place: str) -> object:
    """The same as JSON knows it; `place` is named in what is raised."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"`data` must hold finite numbers, got {value} at {place}.")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(inner, f"{place}[{key!r}]") for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [_plain(inner, f"{place}[{index}]") for index, inner in enumerate(value)]
    raise TypeError(
        f"`data` must hold numbers, strings, arrays, sequences and mappings from strings, got "
        f"{type(value).__name__} at {place}."
    )


def _svg(picture: Figure, prefix: str) -> str:
    """The picture as an element of a page, with ids that no other picture of the page has."""
    drawn = io.StringIO()
    picture.savefig(drawn, format="svg", metadata={"Date": None})
    pyplot.close(picture)
    text = drawn.getvalue()
    text = re.sub(r'(\bid="|="#|url\(#)', rf"\g<1>{prefix}-", text[text.index("<svg") :])
    return re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL).strip()
