"""Small faults in the markup that themes and extensions write, mended in the built pages."""

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
# a glued number is written as Python writes it
_GLUED = re.compile(r'(?<=<span class="pasted-text">)[^<]*(?=</span>)')
_NAMED = '<summary aria-label="Show or hide the pages below">'


def mend(page: str) -> str:
    """A page of HTML without names that several elements have, with words for every switch,
    with lists where HTML allows them, and with glued numbers as they are written by hand.
    """
    named = _SWITCH.sub(_NAMED, _CONTENT.sub(r"\1", page))
    listed = _RETURNED.sub(r"\1", _LIST.sub('<div class="citation-list">', named))
    return _GLUED.sub(lambda found: powers(found[0]), listed)
