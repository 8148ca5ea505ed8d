"""How a token of a text is written in a figure."""

# white space is seen, and a dollar begins no formula
_SIGNS = str.maketrans({" ": "␣", "\n": "¶", "\t": "→", "$": r"\$"})


def visible(token: str) -> str:
    """The token with signs in place of its white space, and without a formula in it.

    Examples
    --------
    >>> from ntpcompanion.plots.drawing.token_names import visible
    >>> visible("word"), visible(" ")
    ('word', '␣')
    """
    return token.translate(_SIGNS)
