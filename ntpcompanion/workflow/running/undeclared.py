"""What a run asks for and does not declare: a sentence for each, with how to declare it."""

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ntpcompanion.workflow.base.environment import OF_THE_MACHINE, package_parents, running
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.tracing import outside
from ntpcompanion.workflow.running.start import SYSTEM, interpreter

QUOTED = re.compile(r"""'([^'\n]+)'|"([^"\n]+)\"""")
ELSEWHERE = (
    "Let a parameter name it and list that under `ntp: {inputs: [...]}`, or add its folder to "
    "`readable` in [tool.ntpcompanion] of pyproject.toml."
)
LONGEST = 300  # characters of a path that is looked for


@dataclass(frozen=True, kw_only=True)
class Undeclared:
    """What a run has asked for and not been given, after it has ended."""

    project: Project
    name: str  # of the run in a sentence
    code: str  # what names a file in it: "a cell", say
    folder: Path  # of the run
    allowed: tuple[str, ...]  # the places outside of it that it may read
    texts: frozenset[str]  # what its code and its parameters name
    how: str  # a file of the project is declared, with the place of its `name`
    records: tuple[str, ...] | None = None  # those that it lists; None: it shows none

    def after_failure(self, error: str, absent: Iterable[str]) -> list[str]:
        """What may have been missing where a run has failed; `absent` are relative paths that were
        opened and do not exist.
        """
        return self._sentences([*sorted(self.texts), *absent, *named_in(error)])

    def after_success(self, absent: Iterable[str], others: Iterable[str]) -> list[str]:
        """What the code names although the run does not have it, and what was read elsewhere."""
        paths = [text for text in sorted(self.texts) if "/" in text or Path(text).suffix]
        root, stranger = self.project.root, outside(self.allowed)
        strangers = [name for name in others if stranger(os.path.realpath(root / name))]
        code = sorted({self._package(name) for name in others if name.endswith(".py")} - {""})
        if strangers and os.environ.get("CI"):
            raise WorkflowError(
                f"{self.name} read {', '.join(strangers)}, which it does not declare. {ELSEWHERE}"
            )
        return [
            *self._sentences([*paths, *absent]),
            *(f"it read {name}, which it does not declare. {ELSEWHERE}" for name in strangers),
            *(
                f"it imports {folder}, which is neither a package of the book nor installed by "
                "content: a change of it makes the run stale, another machine may have another."
                for folder in code
            ),
        ]

    def _package(self, name: str) -> str:
        """The folder of code outside of the project; nothing for the package that runs this."""
        place = os.path.realpath(self.project.root / name)
        if not outside(running())(place):
            return ""
        return os.path.dirname(place)

    def _sentences(self, names: Iterable[str]) -> list[str]:
        plain = [
            name.removeprefix(f"{self.folder}{os.sep}")
            for name in names
            if 0 < len(name) <= LONGEST and "\0" not in name and "\n" not in name
        ]
        sentences = [sentence for name in plain for sentence in self._sentences_about(name)]
        return list(dict.fromkeys(sentences))

    def _sentences_about(self, name: str) -> Iterator[str]:
        project = self.project
        unlisted = self.records is not None and name not in self.records
        if unlisted and (project.records / f"{name}.json").is_file():
            yield (
                f"{self.name} shows the record {name}, which its front matter does not list: add "
                f"`ntp: {{records: [{name}]}}`, so that a new record runs the notebook again."
            )
        if name in os.environ and name not in (*OF_THE_MACHINE, *project.settings.environment):
            yield (
                f"{self.code} names {name!r}, a variable of your environment that a run does not "
                "have. Add it to `environment` in [tool.ntpcompanion] of pyproject.toml if it may "
                "decide a number."
            )
        if Path(name).is_absolute():
            # a folder above that of the run, such as "/", is a separator or the like
            inside = str(self.folder).startswith(os.path.join(name, ""))
            closed = outside([*self.allowed, *SYSTEM, *interpreter(), str(self.folder)])
            if os.path.exists(name) and not inside and closed(os.path.realpath(name)):
                yield (
                    f"{self.code} names {name}, which lies outside of what a run may read. "
                    f"{ELSEWHERE}"
                )
            return
        for above in dict.fromkeys([project.root, *package_parents(project)]):
            place = Path(os.path.normpath(above / name))
            if not place.is_relative_to(project.root) or place == project.root:
                continue
            below = place.relative_to(project.root).as_posix()
            if place.exists() and not (self.folder / below).exists():
                yield (
                    f"{self.code} names {below}, which lies in the project and is not declared: a "
                    "run has a folder of its own that holds only what it declares. "
                    f"{self.how.format(name=below)}"
                )


def texts_of(code: str, parameters: Mapping[str, object]) -> frozenset[str]:
    """The literal texts in some Python code, and the parameters that are texts."""
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    values = [*(node.value for node in nodes), *parameters.values()]
    return frozenset(value for value in values if isinstance(value, str))


def named_in(error: str) -> list[str]:
    """What an error message quotes: paths, and modules as the files that they may be."""
    quoted = [single or double for single, double in QUOTED.findall(error)]
    modules = [name.replace(".", "/") + ".py" for name in quoted if re.fullmatch(r"[\w.]+", name)]
    return [*quoted, *modules, *(f"notebooks/{name}" for name in modules)]
