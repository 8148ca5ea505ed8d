"""Small faults in the markup that themes and extensions write, mended in the built pages."""

import re

# sphinx-proof gives the content of every statement the same name, to which nothing refers
_CONTENT = re.compile(r'(<section\b[^>]*\bclass="[a-z]+-content"[^>]*?) id="proof-content"')
# the theme's switch beside an entry of the menu is an arrow without words
_SWITCH = re.compile(r'<summary>(?=<span class="toctree-toggle")')
# docutils calls the bibliography a list, whose entries are none
_LIST = re.compile(r'<div role="list" class="citation-list">')
# Sphinx puts the list of what a function returns into a paragraph, which a list ends
_RETURNED = re.compile(r'<p>(<ul class="simple">.*?</ul>)\s*</p>(?=\s*</dd>)', re.DOTALL)
_NAMED = '<summary aria-label="Show or hide the pages below">'


def mend(page: str) -> str:
    """A page of HTML without names that several elements have, with words for every switch, and
    with lists where HTML allows them.
    """
    named = _SWITCH.sub(_NAMED, _CONTENT.sub(r"\1", page))
    return _RETURNED.sub(r"\1", _LIST.sub('<div class="citation-list">', named))
