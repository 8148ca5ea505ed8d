"""Small faults in the markup that themes and extensions write, fixed in the built pages."""

import re

from ntpcompanion.workflow.claims.formatting import powers

# sphinx-proof gives the content of every statement the same name, to which nothing refers
_CONTENT = re.compile(r'(<section\b[^>]*\bclass="[a-z]+-content"[^>]*?) id="proof-content"')
# the theme's switch beside an entry of the menu is an arrow without words
_SWITCH = re.compile(r'<summary>(?=<span class="toctree-toggle")')
# docutils calls the bibliography a list, whose entries are none
_LIST = re.compile(r'<div role="list" class="citation-list">')
# Sphinx puts the list of what a function returns into a paragraph, which a list ends
_RETURNED = re.compile(r'<p>(<ul class="simple">.*?</ul>)\s*</p>(?=\s*</dd>)', re.DOTALL)
# the theme sets what is glued in bold, which suits a number or a word
_SENTENCE = re.compile(r'<span class="pasted-text">(?=[^<]* [^<]*\.</span>)')
# a glued number is written as Python writes it
_GLUED = re.compile(r'(?<=<span class="pasted-text">)[^<]*(?=</span>)')
# so is one that a notebook has put into a table as text
_CELL = re.compile(r"(?<=<td>)-(?=\d)")
_TABLE = re.compile(r'<table class="ntp-table">.*?</table>', re.DOTALL)
# a number and its per cent sign stay on one line, but for what may be copied and run
_PER_CENT = re.compile(
    r"(<(pre|script|style|textarea)\b.*?</\2>)|(\d(?:</span>)?) %(?!\w)", re.DOTALL
)
_NAMED = '<summary aria-label="Show or hide the pages below">'


def fix(page: str) -> str:
    """A page of HTML without names that several elements have, with words for every switch,
    with lists where HTML allows them, with numbers as they are written by hand, and without bold
    sentences.
    """
    named = _SWITCH.sub(_NAMED, _CONTENT.sub(r"\1", page))
    listed = _RETURNED.sub(r"\1", _LIST.sub('<div class="citation-list">', named))
    light = _SENTENCE.sub("<span>", listed)
    glued = _GLUED.sub(lambda match: powers(match[0]), light)
    signed = _TABLE.sub(lambda match: _CELL.sub("\N{MINUS SIGN}", match[0]), glued)
    return _PER_CENT.sub(lambda match: match[1] or f"{match[3]}\N{NO-BREAK SPACE}%", signed)
