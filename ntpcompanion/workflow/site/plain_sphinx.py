"""The way out of Jupyter Book: the same sources, built by plain Sphinx in an environment of its own
(`make sphinx`).
"""

import shutil
import sys
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError, plain
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.notebooks.profiles import read_profiles
from ntpcompanion.workflow.running.runs import Run, plan
from ntpcompanion.workflow.site.build_site import prepare_pages
from ntpcompanion.workflow.site.previews import write_previews
from ntpcompanion.workflow.site.shown import site_faults

# Jupyter Book's own extension only declares two settings that nobody else reads; the other brings
# MathJax, as our rendering does by hand. Ours decides what is read again on top of an earlier
# rendering; here nothing of one is kept.
WITHOUT_JUPYTER_BOOK = """
left_out = {"jupyter_book", "ntpcompanion.workflow.site.sphinx_extension"}
extensions = [name for name in extensions if name not in left_out] + ["sphinx-mathjax-offline"]
"""


def export_sources(project: Project, source: Path, target: Path) -> None:
    """Copy `source` (a book folder with its executed chapters) to `target`, and write there the
    `conf.py` that Sphinx alone understands.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    # Jupyter Book writes conf.py beside it
    config = shutil.copy2(project.root / "_config.yml", target)
    command = [
        sys.executable,
        "-c",
        "from jupyter_book.cli.main import main; main()",
        "config",
        "sphinx",
        str(target),
    ]
    _run(
        "Jupyter Book",
        [*command, "--config", str(config), "--toc", str(target / "_toc.yml")],
        project.root,
    )
    with (target / "conf.py").open("a", encoding="utf-8") as conf:
        conf.write(WITHOUT_JUPYTER_BOOK)


def build_with_sphinx(project: Project, runs: list[Run], python: Path) -> Path:
    """Build the book from stored results with the Sphinx of the interpreter `python`, warnings as
    errors; return the site's folder.

    Nothing is executed, and nothing is kept from the last build. Raises WorkflowError with Sphinx's
    warnings, or with what the site lacks.
    """
    if not python.is_file():
        raise WorkflowError(
            f"There is no {python}. Run `make sphinx`: it makes that environment first."
        )
    source, judged, marks = prepare_pages(project, runs, "book")
    work = project.build / "sphinx"
    html, doctrees = work / "html", work / "doctrees"
    export_sources(project, source, work / "source")
    for old in (html, doctrees):
        shutil.rmtree(old, ignore_errors=True)
    # one process: sphinx_multitoc_numbering allows no more
    options = ["-b", "html", "-W", "-n", "--keep-going", "-q", "-d", str(doctrees)]
    _run(
        "Sphinx",
        [str(python), "-m", "sphinx", *options, str(work / "source"), str(html)],
        project.root,
    )
    write_previews(html)
    faults = site_faults(project, html, judged, marks)
    if faults:
        raise WorkflowError("Sphinx built the site, but:\n" + "\n".join(faults))
    return html


def main() -> None:
    """What `make sphinx` runs, after the notebooks. Raises SystemExit with what went wrong."""
    project = Project.find()
    python = project.build / "sphinx" / "env" / "bin" / "python"
    try:
        notebooks = find_notebooks(project)
        profiles = read_profiles(project, notebooks)
        with project.lock():
            html = build_with_sphinx(
                project,
                [plan(project, notebook, "book", profiles) for notebook in notebooks.values()],
                python,
            )
        version = _run("Sphinx", [str(python), "-m", "sphinx", "--version"], project.root).split()[
            -1
        ]
    except WorkflowError as error:
        raise SystemExit(f"error: {error}") from error
    print(f"Sphinx {version} built {html / 'index.html'}")


def _run(name: str, command: list[str], folder: Path) -> str:
    ended = run(command, folder=folder)
    if ended.code:
        message = plain(ended.output + ended.errors)[-5000:]
        raise WorkflowError(f"{name} stopped with code {ended.code}:\n{message}")
    return ended.output


if __name__ == "__main__":
    main()
