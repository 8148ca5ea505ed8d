"""One numbering: a statement has the number of the book, and the paper's as a note beside it; so
has a displayed formula that ends in a comment of TeX, `% (4) of the paper`. No formula in a line of
text loses its punctuation.
"""

import re

_TITLE = re.compile(
    r'(<p class="admonition-title"[^>]*>\s*<span class="caption-number">[^<]*</span>)\s*(.*?)</p>',
    re.DOTALL,
)
_OF_THE_PAPER = re.compile(
    r"\s*\((?P<what>[^()]*(?:\([^()]*\)[^()]*)*?)\s+of\s+the\s+paper(?P<more>,[^()]*)?\)\s*$"
)
# a statement without a title of its own
_ONLY_THAT = re.compile(r"^(?P<what>\w+ [\w.]*\d) of the paper$")
_FORMULA = re.compile(r'(<div class="math[^>]*>\s*)((?:(?!</div>).)*)', re.DOTALL)
_NUMBERS = re.compile(r"\s*% (\([^()%]*\)(?:, \([^()%]*\))*) of the paper[ ]*(?=\n|\\)")
_BEFORE_A_SIGN = re.compile(r'(<span class="math[^>]*>\s*\\\([^<]*\\\)\s*</span>)([.,;:!?)\]’”]+)')
_NOT_IN_IT = re.compile(r"\s*\(not in the paper\)\s*$")


def with_papers_numbers(html: str) -> str:
    """A page whose numbered statements show what stands at the end of their titles in parentheses,
    "(Theorem 2 of the paper)", as a note beside the title, and whose formulas show the number in
    their comment beside them.

    Around the title itself no parentheses are left. Doing so again changes nothing.
    """
    return _FORMULA.sub(_numbered, _TITLE.sub(_titled, html))


def with_their_punctuation(html: str) -> str:
    """A page on which no line begins with the full stop of a formula: MathJax makes a box of each
    formula, and a browser may break the line after a box.
    """
    return _BEFORE_A_SIGN.sub(r'<span class="ntp-nobreak">\1\2</span>', html)


def papers_number(title: str) -> tuple[str, str | None]:
    """A title without what it says of the paper at its end, and that: `Theorem 2`. Empty where it
    says that the paper has no such statement, None where it says nothing.
    """
    match = _ONLY_THAT.search(title) or _OF_THE_PAPER.search(title) or _NOT_IN_IT.search(title)
    if match is None:
        return title, None
    parts = match.groupdict(default="")
    label = parts.get("what", "") + parts.get("more", "")
    return title[: match.start()].strip(), label[:1].upper() + label[1:]


def _numbered(match: re.Match[str]) -> str:
    numbers = ", ".join(_NUMBERS.findall(match[2]))
    note = f'<span class="ntp-papers-equation">paper {numbers}</span>' if numbers else ""
    return f"{match[1]}{note}{_NUMBERS.sub('', match[2])}"


def _titled(match: re.Match[str]) -> str:
    number, title = match[1], match[2].strip()
    if "ntp-title" in title:
        return match[0]
    if title.startswith("(") and title.endswith(")"):
        title = title[1:-1].strip()
    title, papers = papers_number(title)
    note = ""
    if papers is not None:
        label = f'{papers}<span class="ntp-unseen"> of the paper</span>'
        note = f'<span class="ntp-papers-number">{label if papers else "Not in the paper"}</span>'
    return f'{number}<span class="ntp-title">{title}</span>{note}</p>'
