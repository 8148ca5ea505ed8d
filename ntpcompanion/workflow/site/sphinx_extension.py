"""A Sphinx extension: a page gets the paper's numbers beside its statements, and the fields of the
experiments that it documents; and what pages were read from is noted, so that a build knows when
that changes. `_config.yml` lists this module among the extensions.
"""

import json
import os
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.tracing import state_of
from ntpcompanion.workflow.pages.numbering import with_papers_numbers, with_their_punctuation
from ntpcompanion.workflow.site.experiment_fields import add_fields

FILE = "sources.json"  # beside the doctrees: the files that pages include, show or document


# `app` and `env` are Sphinx's own objects, whose classes no command of ours waits to import
def setup(app: Any) -> dict[str, bool]:
    # else Sphinx loads MathJax only where it has seen a formula itself: not for those in raw HTML
    app.set_html_assets_policy("always")
    app.connect("env-updated", _note_files)
    app.connect("html-page-context", _complete)
    app.setup_extension("sphinx.ext.autodoc")  # whose event it is; a book may not list it itself
    app.connect("autodoc-process-docstring", add_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def included_files(doctrees: Path) -> dict[str, str]:
    """The hashes of the files that the pages of a rendering include, show or document."""
    file = doctrees / FILE
    included: dict[str, str] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return included


def _note_files(app: Any, env: Any) -> None:
    paths = {os.path.join(env.srcdir, path) for each in env.dependencies.values() for path in each}
    hashes = {path: state_of(Path(path)) for path in sorted(map(os.path.normpath, paths))}
    Path(env.doctreedir, FILE).write_text(json.dumps(hashes), encoding="utf-8")


def _complete(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """What is written into the body of a page when all else of it is known."""
    if body := context.get("body"):
        context["body"] = with_their_punctuation(with_papers_numbers(body))
