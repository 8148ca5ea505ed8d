"""What the command line of a tool of the tests chooses among names."""

import argparse
from collections.abc import Iterable


def chosen(
    parser: argparse.ArgumentParser, kind: str, names: list[str], known: Iterable[str]
) -> list[str]:
    """The names given of a kind, or all that are known if none is; ends the command at another.

    In place of `choices`: with nargs="*", argparse of Python 3.11 holds an empty list against them.
    """
    known = list(known)
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"no {kind} is called {', '.join(unknown)}; there are {', '.join(known)}")
    return names or known
