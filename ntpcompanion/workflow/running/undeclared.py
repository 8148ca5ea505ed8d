"""What a run asks for and does not declare: a sentence for each, with how to declare it."""

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ntpcompanion.workflow.base.environment import OF_THE_MACHINE, package_parents, running
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.messages import Done, Failed
from ntpcompanion.workflow.base.tracing import outside
from ntpcompanion.workflow.notebooks.notebook import Notebook, imported_modules
from ntpcompanion.workflow.running.declared import HOW
from ntpcompanion.workflow.running.job import Job
from ntpcompanion.workflow.running.runs import Run
from ntpcompanion.workflow.running.start import SYSTEM, interpreter

QUOTED = re.compile(r"""'([^'\n]+)'|"([^"\n]+)\"""")
ELSEWHERE = (
    "Let a parameter name it and list that under `ntp: {inputs: [...]}`, or add its folder to "
    "`readable` in [tool.ntpcompanion] of pyproject.toml."
)
LONGEST = 300  # characters of a path that is looked for


class Undeclared:
    """What a run has asked for and not been given, after it has ended."""

    def __init__(self, run: Run, job: Job) -> None:
        self.run, self.folder = run, Path(job.folder)
        open_places = [*job.import_path, *job.readable, *SYSTEM, *interpreter(), job.folder]
        self.closed = outside(open_places)
        self.allowed = outside([*job.readable, *job.import_path])

    def after_failure(self, failed: Failed) -> list[str]:
        """What may have been missing where a cell has failed."""
        return self._sentences([*self._texts(), *failed.absent, *named_in(failed.error)])

    def after_success(self, done: Done, others: Mapping[str, str]) -> list[str]:
        """What a cell names although the run does not have it, and what was read elsewhere.

        Raises
        ------
        WorkflowError
            under CI, files outside of the project that no setting allows to be read.
        """
        paths = [text for text in self._texts() if "/" in text or Path(text).suffix]
        root = self.run.project.root
        strangers = [name for name in others if self.allowed(os.path.realpath(root / name))]
        code = sorted({self._package(name) for name in others if name.endswith(".py")} - {""})
        if strangers and os.environ.get("CI"):
            raise WorkflowError(
                f"Notebook {self.run.notebook.name!r} read {', '.join(strangers)}, which it does "
                f"not declare. {ELSEWHERE}"
            )
        return [
            *self._sentences([*paths, *done.absent]),
            *(f"it read {name}, which it does not declare. {ELSEWHERE}" for name in strangers),
            *(
                f"it imports {folder}, which is neither a package of the book nor installed by "
                "content: a change of it makes the run stale, another machine may have another."
                for folder in code
            ),
        ]

    def _texts(self) -> list[str]:
        """The literal texts of the cells, and the parameters that are texts."""
        values = (value for value in self.run.parameters.values() if isinstance(value, str))
        return sorted({*texts_of(self.run.notebook), *values})

    def _package(self, name: str) -> str:
        """The folder of code outside of the project; nothing for the package that runs this."""
        place = os.path.realpath(self.run.project.root / name)
        if not outside(running())(place):
            return ""
        return os.path.dirname(place)

    def _sentences(self, names: Iterable[str]) -> list[str]:
        plain = [
            name.removeprefix(f"{self.folder}{os.sep}")
            for name in names
            if 0 < len(name) <= LONGEST and "\0" not in name and "\n" not in name
        ]
        sentences = [sentence for name in plain for sentence in self._said(name)]
        return list(dict.fromkeys(sentences))

    def _said(self, name: str) -> Iterator[str]:
        project = self.run.project
        if (project.records / f"{name}.json").is_file() and (
            name not in self.run.notebook.settings.get("records", [])
        ):
            yield (
                f"Notebook {self.run.notebook.name!r} shows the record {name}, which its front "
                f"matter does not list: add `ntp: {{records: [{name}]}}`, so that a new record "
                "runs the notebook again."
            )
        if name in os.environ and name not in (*OF_THE_MACHINE, *project.settings.environment):
            yield (
                f"a cell names {name!r}, a variable of your environment that a run does not have. "
                "Add it to `environment` in [tool.ntpcompanion] of pyproject.toml if it may decide "
                "a number."
            )
        if Path(name).is_absolute():
            # a folder above that of the run, such as "/", is a separator or the like
            inside = str(self.folder).startswith(os.path.join(name, ""))
            if os.path.exists(name) and not inside and self.closed(os.path.realpath(name)):
                yield f"a cell names {name}, which lies outside of what a run may read. {ELSEWHERE}"
            return
        for above in dict.fromkeys([project.root, *package_parents(project)]):
            place = Path(os.path.normpath(above / name))
            if not place.is_relative_to(project.root) or place == project.root:
                continue
            below = place.relative_to(project.root).as_posix()
            if place.exists() and not (self.folder / below).exists():
                yield (
                    f"a cell names {below}, which lies in the project and is not declared: a run "
                    "has a folder of its own that holds only what it declares. "
                    f"{HOW.format(name=below)}"
                )


def texts_of(notebook: Notebook) -> set[str]:
    """The literal texts in the code cells."""
    nodes = ast.walk(ast.parse(imported_modules(notebook.node)))
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def named_in(error: str) -> list[str]:
    """What an error message quotes: paths, and modules as the files that they may be."""
    quoted = [single or double for single, double in QUOTED.findall(error)]
    modules = [name.replace(".", "/") + ".py" for name in quoted if re.fullmatch(r"[\w.]+", name)]
    return [*quoted, *modules, *(f"notebooks/{name}" for name in modules)]
