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
# a number in the text that a notebook has computed, as Python writes it
_GLUED = re.compile(r'(?<=<span class="pasted-text">)(-?)([\d.]+)(?:e([+-])0*(\d+))?(?=</span>)')
_NAMED = '<summary aria-label="Show or hide the pages below">'
_SIGN = {"": "", "+": "", "-": "\N{MINUS SIGN}"}


def mend(page: str) -> str:
    """A page of HTML without names that several elements have, with words for every switch, with
    lists where HTML allows them, and with the minus signs and powers of ten of typography.
    """
    named = _SWITCH.sub(_NAMED, _CONTENT.sub(r"\1", page))
    listed = _RETURNED.sub(r"\1", _LIST.sub('<div class="citation-list">', named))
    return _GLUED.sub(_number, listed)


def _number(found: re.Match[str]) -> str:
    sign, digits, power_sign, power = found.groups()
    times = f" × 10<sup>{_SIGN[power_sign]}{power}</sup>" if power else ""
    return f"{_SIGN[sign]}{digits}{times}"
