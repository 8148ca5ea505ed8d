"""A Sphinx extension: pages are read and written again when the content behind them changed,
whatever the dates say; and a page gets the paper's numbers beside its statements, and the meanings
of its symbols.

Sphinx compares dates. They mislead after `cp -p`, `rsync` or `unzip`, and after a clock that was
ahead; and Sphinx writes no page again because of a number that it takes from another. `_config.yml`
lists this module among the extensions.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from pprint import pformat
from typing import Any, TypedDict

from ntpcompanion.workflow.base.files import hash_of, sha256
from ntpcompanion.workflow.base.texts import read_text
from ntpcompanion.workflow.chapters import numbering, symbols
from ntpcompanion.workflow.chapters.numbering import with_papers_numbers, with_their_punctuation
from ntpcompanion.workflow.chapters.symbols import read_notation, with_symbols

FILE = "sources.json"  # beside the doctrees: what the last rendering read


class _Rendering(TypedDict):
    """The hashes of the files behind each page, and one of what pages take from each other."""

    pages: dict[str, dict[str, str]]
    shared: str


# `app` and `env` are Sphinx's own objects, whose classes no command of ours waits to import
def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    # else Sphinx loads MathJax only where it has seen a formula itself: not for those in raw HTML
    app.set_html_assets_policy("always")
    app.connect("env-get-outdated", _read_again)
    # after those that number sections and figures
    app.connect("env-get-updated", _write_again, priority=900)
    app.connect("html-page-context", _complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def outdated_pages(doctrees: Path) -> set[str] | None:
    """The pages read by the last rendering one of whose files has another content now; None if
    nothing is known of it.
    """
    last = _last(doctrees)
    if last is None:
        return None
    now = {path: hash_of(Path(path)) for files in last["pages"].values() for path in files}
    return {
        page
        for page, files in last["pages"].items()
        if any(now[path] != digest for path, digest in files.items())
    }


def _complete(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """What is written into the body of a page when all else of it is known."""
    if body := context.get("body"):
        notation = _notation(app.env)
        entries = read_notation(read_text(notation)) if notation.is_file() else []
        body = with_symbols(with_papers_numbers(body), entries, page)
        context["body"] = with_their_punctuation(body)


def _notation(env: Any) -> Path:
    return Path(env.srcdir) / "notation.md"


def _read_again(
    app: Any, env: Any, added: set[str], changed: set[str], removed: set[str]
) -> set[str]:
    outdated = outdated_pages(Path(env.doctreedir))
    pages = env.found_docs if outdated is None else outdated
    for page in {*pages, *added, *changed, *removed}:
        # else other pages would find values there that are no longer glued
        _glued(env, page).unlink(missing_ok=True)
    return pages


def _write_again(app: Any, env: Any) -> Iterable[str]:
    last = _last(Path(env.doctreedir))
    pages = {
        page: {path: hash_of(Path(path)) for path in _files(env, page)}
        for page in sorted(env.found_docs)
    }
    shared = _shared(env)
    (Path(env.doctreedir) / FILE).write_text(
        json.dumps({"pages": pages, "shared": shared}), encoding="utf-8"
    )
    return [] if last is not None and last["shared"] == shared else pages


def _last(doctrees: Path) -> _Rendering | None:
    try:
        last: _Rendering = json.loads((doctrees / FILE).read_text(encoding="utf-8"))
        return last
    except (OSError, ValueError):
        return None


def _files(env: Any, page: str) -> list[str]:
    """The source of a page and all that it includes, shows or documents."""
    inside = [os.path.join(env.srcdir, path) for path in env.dependencies.get(page, ())]
    return sorted({os.path.normpath(path) for path in [str(env.doc2path(page)), *inside]})


def _shared(env: Any) -> str:
    """One hash of what pages take from each other: titles, numbers, labels, equations, documented
    names, glued values, the notation.
    """
    data = env.domaindata
    glued = {page: hash_of(_glued(env, page)) for page in env.found_docs}
    titles = {page: title.astext() for page, title in env.titles.items()}
    numbers = [env.toc_secnumbers, env.toc_fignumbers]
    named = [data["std"][kind] for kind in ("labels", "anonlabels", "objects", "terms")] + [
        data["math"]["objects"],
        data["py"]["objects"],
    ]
    code = [hash_of(Path(str(module.__file__))) for module in (numbering, symbols)]
    return sha256(pformat([titles, numbers, named, glued, hash_of(_notation(env)), code]))


def _glued(env: Any, page: str) -> Path:
    """Where myst-nb keeps the values that a notebook has glued."""
    return Path(env.mystnb_config.output_folder) / f"{page}.glue.json"
