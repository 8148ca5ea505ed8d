"""Jupyter Book on the executed notebooks, and its site put in place as a whole."""

import importlib.util
import re
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ntpcompanion.workflow.base.environment import clean_environment, folders
from ntpcompanion.workflow.base.errors import WorkflowError, plain
from ntpcompanion.workflow.base.processes import Ended, run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from ntpcompanion.workflow.site.markup_fixes import fix
from ntpcompanion.workflow.site.previews import write_previews

READERS = ("pybtex", "tinycss2", "tinyhtml5")
# the API page shows docstrings of the present sources: what is imported before that is said is not
# shown there
START = """
from ntpcompanion.workflow.base.tracing import import_from_sources
import_from_sources({folders!r})
from ntpcompanion.workflow.base.processes import end_with_parent
end_with_parent()
from jupyter_book.cli.main import main
main()
"""


def render(project: Project, source: Path, html: Path) -> Path:
    """Build `source` (a book folder) with warnings as errors into a folder beside `html`, which is
    returned; `publish` puts it in place. Raises WorkflowError with the warnings.
    """
    require_jupyter_book_1()
    output = doctrees(html).parents[1]  # Jupyter Book writes to OUTPUT/_build/html
    files = ["--config", str(project.root / "_config.yml"), "--toc", str(source / "_toc.yml")]
    options = ["-W", "-n", "--keep-going", "-q"]
    arguments = ["build", str(source), "--path-output", str(output), *files, *options]
    ended = _run_jupyter_book(arguments, project)
    if ended.code:
        messages = _warnings(ended.output + ended.errors)
        raise WorkflowError(f"Jupyter Book stopped with code {ended.code}:\n{messages}")
    made = output / "_build" / "html"
    drop_removed_pages(made, toc_pages(project))
    _add_mathjax(made)
    write_previews(made)
    finish_pages(made)
    return made


def doctrees(html: Path) -> Path:
    """The folder in which Sphinx keeps what it has read of the pages of a site."""
    return html.with_name(f"{html.name}-work") / "_build" / ".doctrees"


def _run_jupyter_book(arguments: list[str], project: Project) -> Ended:
    """Run it in a process that ends with this one, however this one ends: two must never write to
    one folder.
    """
    code = START.format(folders=folders(project))
    command = [sys.executable, "-c", code, *arguments]
    return run(command, environment=clean_environment(project), folder=project.root)


def drop_removed_pages(html: Path, pages: list[str]) -> None:
    """Delete what an earlier build left of pages that the table of contents no longer lists; Sphinx
    never does.
    """
    sources = html / "_sources"
    for path in [path for path in sources.rglob("*") if path.is_file()]:
        page = path.relative_to(sources).with_suffix("").as_posix()
        if page not in pages:
            path.unlink()
    # what Sphinx makes beside the table of contents
    made = {"index", "genindex", "py-modindex", "search", *pages}
    for path in [
        path for path in html.rglob("*.html") if not path.relative_to(html).parts[0].startswith("_")
    ]:
        if path.relative_to(html).with_suffix("").as_posix() not in made:
            path.unlink()


def finish_pages(html: Path) -> None:
    """Fix the markup of every page of a site. Doing so again changes nothing."""
    for path in sorted(html.rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        finished = fix(page)
        if finished != page:
            path.write_text(finished, encoding="utf-8")


def require_jupyter_book_1() -> None:
    """Raises WorkflowError unless a Jupyter Book of version 1 is installed, and what reads the
    pages and the bibliography besides.
    """
    try:
        installed = version("jupyter-book")
    except PackageNotFoundError:
        raise WorkflowError(
            "jupyter-book is not installed. Run `pip install 'ntpcompanion[book]'`; "
            "`ntpcompanion doctor` says which versions this book asks for."
        ) from None
    if int(installed.split(".")[0]) >= 2:
        raise WorkflowError(
            f"jupyter-book {installed} is installed: version 2 ignores `_config.yml`, builds "
            "nothing and exits 0. Install `jupyter-book<2`."
        )
    if absent := [name for name in READERS if importlib.util.find_spec(name) is None]:
        raise WorkflowError(
            f"{', '.join(absent)} is not installed. Run `pip install 'ntpcompanion[book]'`; "
            "`ntpcompanion doctor` says which versions this book asks for."
        )


def _add_mathjax(html: Path) -> None:
    """MathJax and its fonts from the installed package `sphinx-mathjax-offline`: the book makes no
    request to the network.
    """
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    if spec is None or spec.origin is None:
        raise WorkflowError(
            "sphinx-mathjax-offline is not installed. Run `pip install 'ntpcompanion[book]'`; "
            "`ntpcompanion doctor` says which versions this book asks for."
        )
    packed = Path(spec.origin).parent / "static" / "mathjax"
    target = html / "_static" / "mathjax"
    if not (target / "tex-chtml-full.js").is_file():
        fonts = Path("output", "chtml", "fonts", "woff-v2")
        shutil.copytree(packed / fonts, target / fonts, dirs_exist_ok=True)
        shutil.copy2(packed / "tex-chtml-full.js", target)


def recover_site(target: Path) -> None:
    """Put the old site back, if a command was killed after it had set it aside and before the new
    one was in its place.
    """
    if not target.exists() and _aside(target).exists():
        _aside(target).rename(target)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}-old")


def publish(made: Path, target: Path) -> None:
    """Put a complete copy in place of the old site; the old one stays until the new one is whole.
    Raises WorkflowError if it cannot be copied.
    """
    recover_site(target)
    fresh = target.with_name(f".{target.name}-new")
    old = _aside(target)
    for leftover in (fresh, old):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        shutil.copytree(made, fresh)
    except (OSError, shutil.Error) as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise WorkflowError(
            f"Could not copy the site to {target}: {error}. The old site, if any, is intact."
        ) from error
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _warnings(log: str) -> str:
    lines = [
        line for line in plain(log).splitlines() if re.search(r"WARNING|ERROR|Error|error", line)
    ]
    return "\n".join(lines[:40]) or log[-3000:]
