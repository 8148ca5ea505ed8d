"""What a name that nobody knows was probably meant to be."""

import difflib
from collections.abc import Iterable
from unicodedata import normalize


def known_as(name: str, known: Iterable[str]) -> str:
    """The known name that looks like `name`; `name` itself where there is not one such name.

    Names look the same if only their accented letters are encoded differently, as one character or
    as a letter and a combining accent: file systems, editors and keyboards differ in that.
    """
    known = list(known)
    alike = [each for each in known if normalize("NFC", each) == normalize("NFC", name)]
    return alike[0] if name not in known and len(alike) == 1 else name


def nearest(name: str, known: Iterable[str]) -> str:
    """`" Did you mean 'x'?"` for a close known name, else an empty string."""
    known = list(known)
    if (alike := known_as(name, known)) != name:
        return (
            f" {alike!r} looks the same, but its accented letters are encoded differently: "
            f"{alike!a} there, {name!a} here. Copy the name from there."
        )
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""
