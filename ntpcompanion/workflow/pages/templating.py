"""Views as HTML and MyST, by the Jinja2 templates of the folder `templates`.

What a view holds is text: `{{ ... }}` escapes it, and only a template can write an element. Filters
say what else it is: `math`, a text with formulas for HTML; `myst`, one for a line of MyST; `safe`,
MyST of the book itself, the lines of a fence, or a drawing of a chapter.
"""

import functools
import re
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.claims.claims import BASES, KINDS, SCOPES
from ntpcompanion.workflow.claims.formatting import in_myst, mathematics
from ntpcompanion.workflow.claims.verdict import tally

FOLDER = Path(__file__).with_name("templates")


def fill(template: str, view: object) -> str:
    """The text of a view, which the template knows as `view`.

    In a template of HTML, a line break and the indentation after it are nothing.
    """
    text: str = _environment().get_template(template).render(view=view)
    return text


@functools.cache
def _environment() -> Any:
    # here: only commands that write pages wait for it
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from jinja2.ext import Extension
    from markupsafe import Markup

    class Joined(Extension):
        def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
            return re.sub(r"\n\s*", "", source) if str(name).endswith(".html") else source

    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=[Joined],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"KINDS": KINDS, "BASES": BASES, "SCOPES": SCOPES}
    made.filters["math"] = lambda text: Markup(mathematics(str(text)))
    made.filters["myst"] = lambda text: Markup(in_myst(" ".join(text.split())))
    made.filters["tally"] = tally
    return made
