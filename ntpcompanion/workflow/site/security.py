"""A content-security policy in every page of a site: what ships may run, and nothing else.

A browser then rejects scripts that a proxy, a host or an extension of the build has put into a
page, and every request that leaves the site. The policy stands in the page itself (a `meta`
element), because a book that is read from disk or from a plain host has no headers.
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape, unescape

# `'self'` holds for pages from disk, too. Styles may stand in elements: MathJax and the figures
# write them there. Fonts and pictures may be part of a page.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
}
_META = re.compile(r'\s*<meta http-equiv="Content-Security-Policy" content="[^"]*">')
_CHARSET = re.compile(r"<meta\s+charset=[^>]*>", re.IGNORECASE)
_SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script\s*>", re.IGNORECASE | re.DOTALL)
_HANDLER = re.compile(r'\son[a-z]+="([^"]*)"')
_TAG = re.compile(r"<[a-z][^<>]*>", re.IGNORECASE)


def with_policy(page: str) -> str:
    """A page of HTML with its policy, before anything that the policy is about; as it is if it
    declares no character set, which every page of a site does, and the themes' pieces do not. A
    policy that stands there already is replaced.
    """
    bare = _META.sub("", page)
    meta = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(bare))}">'
    return _CHARSET.sub(lambda match: f"{match[0]}\n    {meta}", bare, count=1)


def policy(page: str) -> str:
    """The policy of a page: files of the site, and the scripts and handlers that stand in the page,
    each by the hash of its text.
    """
    scripts = [text for attributes, text in _SCRIPT.findall(page) if _runs(attributes, text)]
    markup = _TAG.findall(_SCRIPT.sub("", page))
    handlers = [unescape(text) for tag in markup for text in _HANDLER.findall(tag)]
    allowed = [POLICY["script-src"], *_hashes(scripts)]
    if handlers:
        allowed += ["'unsafe-hashes'", *_hashes(handlers)]
    directives = POLICY | {"script-src": " ".join(allowed)}
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _runs(attributes: str, text: str) -> bool:
    """Whether a script element holds a program, not data or the address of one."""
    return bool(text.strip()) and not re.search(r"\bsrc=|application/json", attributes)


def _hashes(texts: Iterable[str]) -> list[str]:
    digests = {hashlib.sha256(text.encode()).digest() for text in texts}
    return sorted(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
