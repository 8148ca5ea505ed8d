"""Numbers and texts as pages show them."""

import re
from collections.abc import Sequence
from html import escape
from math import floor, log10

from ntpcompanion.workflow.claims.measurement import Measurement

LIST_SHOWN = 6
_ROUNDING = 1e-12  # a relative difference whose digits nobody would count
# MyST reads all of these as markup; as numbered entities a browser shows them and MyST leaves them
# alone
_MARKUP = {ord(character): f"&#{ord(character)};" for character in "\\`*_{}[]()#+-.!|~^:$@>\"'="}

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def show(
    measurement: Measurement, shown: int | None = LIST_SHOWN, distinguish_from: Sequence[float] = ()
) -> str:
    """The measured value with as many digits as its standard error allows; long lists are cut to
    `shown` values.

    An exact value gets as many digits as tell it from each number of `distinguish_from`.
    """
    pairs = zip(measurement.values, measurement.errors, strict=True)
    texts = [number(value, error, distinguish_from) for value, error in pairs]
    if shown is not None and len(texts) > shown:
        texts = [*texts[: shown - 1], "…", texts[-1]]
    return ", ".join(texts)


def number(value: float, error: float, distinguish_from: Sequence[float] = ()) -> str:
    """`0.1234 ± 0.0021`: two digits of the error and the value to the same place.

    Of an exact value four digits, or as many as tell it from an integer and from each number of
    `distinguish_from`; beside an integer, the distance: `2 - 4.4e-16`.
    """
    if error:
        decimals = max(0, 1 - int(f"{error:.1e}"[4:]))  # 0.0996 is rounded up to 0.10
        if decimals > 8:
            digits = max(2, decimals + floor(log10(abs(value) or error)))
            return f"{value:.{digits}e} ± {error:.1e}"
        return f"{value:.{decimals}f} ± {error:.{decimals}f}"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value)}"
    whole = float(round(value))
    if 0 < abs(value - whole) < _ROUNDING * abs(whole):
        return f"{int(whole)} {'+' if value > whole else '-'} {abs(value - whole):.2g}"
    others = {whole, *map(float, distinguish_from)} - {value}
    texts = (f"{value:.{digits}g}" for digits in range(4, 18))
    return next(text for text in texts if float(text) not in others)


def powers(text: str) -> str:
    """A text with numbers as they are written by hand: `-1.2e-05` is `−1.2 × 10⁻⁵`."""
    written = re.sub(r"(?<![\w.])(\d(?:\.\d+)?)e([+-]?\d+)\b", _power, text)
    return re.sub(r"(?<![\w.])-(?=\d)|(?<=\d )-(?= \d)", "\N{MINUS SIGN}", written)


def _power(match: re.Match[str]) -> str:
    if not int(match[2]):
        return match[1]
    power = f"10{str(int(match[2])).translate(_RAISED)}"
    return power if match[1] == "1" else f"{match[1]} × {power}"


def mathematics(text: str) -> str:
    r"""A text as HTML, with `$...$` turned into `\(...\)` for MathJax."""
    parts = re.split(r"\$([^$]+)\$", text)
    marked = (
        rf'<span class="mathjax_process">\({escape(p)}\)</span>' if i % 2 else escape(p)
        for i, p in enumerate(parts)
    )
    return "".join(marked)


def in_myst(text: str) -> str:
    """A text for the middle of a MyST line: its `$...$` is mathematics, everything else is shown
    letter by letter.
    """
    parts = re.split(r"\$([^$]+)\$", text)
    return "".join(f"${part}$" if i % 2 else inert(escape(part)) for i, part in enumerate(parts))


def inert(html: str) -> str:
    """HTML for the middle of a MyST line: its tags stay, nothing between them is read as markup."""
    parts = re.split(r"(<[^<>]*>|&#?\w+;)", html)
    return "".join(part if i % 2 else part.translate(_MARKUP) for i, part in enumerate(parts))
