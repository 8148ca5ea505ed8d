"""One numbering: a statement has the number of the book, and the paper's as a note beside it."""

import re

_TITLE = re.compile(
    r'(<p class="admonition-title"[^>]*>\s*<span class="caption-number">[^<]*</span>)\s*(.*?)</p>',
    re.DOTALL,
)
_OF_THE_PAPER = re.compile(r"\s*\((?P<what>[^()]*(?:\([^()]*\)[^()]*)*?)\s+of\s+the\s+paper\)\s*$")
_ONLY_THAT = re.compile(
    r"^(?P<what>[^()]*\d) of the paper$"
)  # a statement without a title of its own
_NOT_IN_IT = re.compile(r"\s*\((?P<what>not in the paper)\)\s*$")


def with_papers_numbers(html: str) -> str:
    """A page whose numbered statements show what stands at the end of their titles in parentheses,
    "(Theorem 2 of the paper)", as a note beside the title.

    Around the title itself no parentheses are left. Doing so again changes nothing.
    """
    return _TITLE.sub(_titled, html)


def _titled(found: re.Match[str]) -> str:
    number, title = found[1], found[2].strip()
    if "ntp-title" in title:
        return found[0]
    if title.startswith("(") and title.endswith(")"):
        title = title[1:-1].strip()
    note = ""
    papers = _ONLY_THAT.search(title) or _OF_THE_PAPER.search(title) or _NOT_IN_IT.search(title)
    if papers:
        title = title[: papers.start()].strip()
        said = papers["what"][:1].upper() + papers["what"][1:]
        of_it = "" if papers.re is _NOT_IN_IT else " of the paper"
        note = (
            f'<span class="ntp-papers-number">{said}<span class="ntp-unseen">{of_it}</span></span>'
        )
    return f'{number}<span class="ntp-title">{title}</span>{note}</p>'
