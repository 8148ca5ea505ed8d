"""Jupyter Book on the executed notebooks, faults in the markup of themes and extensions fixed, and
its site put in place as a whole.
"""

import re
import shutil
import sys
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from ntpcompanion.workflow.base.environment import clean_environment, folders
from ntpcompanion.workflow.base.errors import WorkflowError, plain
from ntpcompanion.workflow.base.processes import Ended, run
from ntpcompanion.workflow.base.project import Project
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


READERS = ("jupyter_book", "pybtex", "sphinx-mathjax-offline", "tinyhtml5")
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
    returned; `publish` puts it in place.
    """
    require_jupyter_book_1()
    output = doctrees(html).parents[1]  # Jupyter Book writes to OUTPUT/_build/html
    # Sphinx tells what it may keep of an earlier rendering by dates, which mislead
    shutil.rmtree(output, ignore_errors=True)
    files = ["--config", str(project.root / "_config.yml"), "--toc", str(source / "_toc.yml")]
    options = ["-W", "-n", "--keep-going", "-q"]
    arguments = ["build", str(source), "--path-output", str(output), *files, *options]
    ended = _run_jupyter_book(arguments, project)
    if ended.code:
        messages = _warnings(ended.output + ended.errors)
        raise WorkflowError(f"Jupyter Book stopped with code {ended.code}:\n{messages}")
    made = output / "_build" / "html"
    _add_mathjax(made)
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


def finish_pages(html: Path) -> None:
    """Fix the markup of every page of a site."""
    for path in html.rglob("*.html"):
        path.write_text(fix(path.read_text(encoding="utf-8")), encoding="utf-8")


def require_jupyter_book_1() -> None:
    """Raises WorkflowError unless a Jupyter Book of version 1 is installed, and what reads the
    pages and the bibliography besides.
    """
    if absent := [name for name in READERS if find_spec(name) is None]:
        raise WorkflowError(
            f"{', '.join(absent)} is not installed. Run `pip install 'ntpcompanion[book]'`; "
            "`ntpcompanion doctor` says which versions this book asks for."
        )
    if int((installed := version("jupyter-book")).split(".")[0]) > 1:
        raise WorkflowError(
            f"jupyter-book {installed} is installed: version 2 ignores `_config.yml`, builds "
            "nothing and exits 0. Install `jupyter-book<2`."
        )


def _add_mathjax(html: Path) -> None:
    """MathJax and its fonts from the installed package `sphinx-mathjax-offline`: the book makes no
    request to the network.
    """
    packed = Path(str(import_module("sphinx-mathjax-offline").__file__)).parent / "static/mathjax"
    target = html / "_static" / "mathjax"
    fonts = Path("output", "chtml", "fonts", "woff-v2")
    shutil.copytree(packed / fonts, target / fonts)
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
    recover_site(target)
    old = _aside(target)
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    made.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _warnings(log: str) -> str:
    lines = [
        line for line in plain(log).splitlines() if re.search(r"WARNING|ERROR|Error|error", line)
    ]
    return "\n".join(lines[:40]) or log[-3000:]
