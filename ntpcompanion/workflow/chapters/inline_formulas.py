"""Formulas in a line of text."""

import re

_BEFORE_A_SIGN = re.compile(r'(<span class="math[^>]*>\s*\\\([^<]*\\\)\s*</span>)([.,;:!?)\]’”]+)')


def with_their_punctuation(html: str) -> str:
    """A page on which no line begins with the full stop of a formula: MathJax makes a box of each
    formula, and a browser may break the line after a box.
    """
    return _BEFORE_A_SIGN.sub(r'<span class="ntp-nobreak">\1\2</span>', html)
