"""A small project of its own: two notebooks, a package of three modules, three claims.

`python -m tests.toy ARGUMENT ...` is its command line.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
import yaml
from typer.testing import CliRunner

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.cli import commands
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.notebooks.profiles import read_profiles
from ntpcompanion.workflow.running import execute as runner
from ntpcompanion.workflow.running.runs import plan, stale_reasons

ROOT = Path(__file__).resolve().parents[1]
HEAD = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
"""
COIN = (
    HEAD
    + """---
(coin)=
# A coin

Prose with $p = 1/2$.

```{code-cell} ipython3
:tags: [parameters]
n = 1000  # throws
seed = 0  # of the generator
```

```{code-cell} ipython3
from ntpcompanion.workflow import measure
from toypkg.half import half
measure("toy.half", half(n) / n, seed=seed)
measure("toy.powers", [half(2), half(4), half(8)])
```
"""
)
WORDS = (
    HEAD
    + """ntp: {inputs: [text]}
---
# Words

```{code-cell} ipython3
:tags: [parameters]
text = "words.txt"  # a file
seed = 0  # unused
```

```{code-cell} ipython3
from pathlib import Path
from ntpcompanion.workflow import measure
measure("toy.words", len(Path(text).read_text().split()))
```
"""
)
EXPERIMENT = """from typing import Any

from ntpcompanion.experiments import experiment


class Plan(experiment.Plan):
    n: int


class Result(experiment.Result):
    value: Any = None


"""
HALVES = """from toypkg.half import half


def run(plan):
    return Result(value=half(plan.n))
"""
CLAIM = {
    "paper": "liu2023same",
    "locator": "Theorem 1",
    "kind": "stated",
    "basis": "text",
    "scope": "same",
}
CLAIM |= {"statement": "One half is $1/2$.", "measures": "a share", "source": "symmetry"}


@dataclass
class Toy:
    """The project with shorthands for what the tests do to it."""

    project: Project

    def runs(self, profile="book", names=(), overrides=None):
        known = find_notebooks(self.project)
        profiles = read_profiles(self.project, known)
        return [
            plan(self.project, nb, profile, profiles, overrides)
            for name, nb in known.items()
            if not names or name in names
        ]

    def execute(self, profile="book", names=(), **options):
        return {
            o.run.notebook.name: o for o in runner.execute(self.runs(profile, names), **options)
        }

    def edit(self, path, old, new):
        file = self.project.root / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    def plan_records(self, **entries):
        """Write the plans of recorded runs."""
        (self.project.records / "plans.yml").write_text(yaml.safe_dump(entries))

    def write_experiment(self, name, code):
        """A module of the package's experiments. `code` defines `run(plan)`, where `plan.n` is a
        whole number and what is returned a `Result(value=...)`, or classes of its own; `ROOT` is
        the root of the project.
        """
        folder = self.project.package / "experiments"
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
        # not as one text, which would be the name of a place that a task cannot read
        root = f"import pathlib\nROOT = pathlib.Path(*{self.project.root.parts})\n"
        (folder / f"{name}.py").write_text(root + EXPERIMENT + code)

    def plan_halves(self, **changes):
        """An experiment `halves`, which halves `n` with the package, and the plan of its record."""
        self.write_experiment("halves", HALVES)
        plan = {"experiment": "halves", "about": "Halves of numbers.", "grid": {"n": [1, 2]}}
        self.plan_records(halves=plan | changes)

    def reasons(self, name, profile="book"):
        return stale_reasons(self.runs(profile, [name])[0])

    def command(self, *arguments, code=0):
        """What a command of this project prints, its spaces normalized; it must end with that exit
        code.
        """
        found = mock.patch.object(Project, "find", return_value=self.project)
        # a command makes the packages of its project importable, for as long as it lives
        with found, mock.patch.object(sys, "path", list(sys.path)):
            done = CliRunner().invoke(commands.app, list(arguments))
        assert done.exit_code == code, (done.output, done.exception)
        return " ".join(done.output.split())

    def start(self, *arguments, before=(), **environment):
        """The same command as a process of its own, in a group that can be killed. `before` is a
        wrapper such as `unshare`.
        """
        path = os.pathsep.join([*filter(None, [environment.pop("PYTHONPATH", None)]), str(ROOT)])
        return subprocess.Popen(
            [*before, sys.executable, "-m", "tests.toy", *arguments],
            cwd=self.project.root,
            start_new_session=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment, "PYTHONPATH": path},
        )

    def run(self, *arguments, code=0, **options):
        """What it prints as a process of its own."""
        process = self.start(*arguments, **options)
        try:
            output = " ".join(process.communicate(timeout=120)[0].split())
        finally:
            process.kill()
        assert process.returncode == code, output
        assert "Traceback (most recent call last)" not in re.sub(r"code cell \d+:.*", "", output), (
            f"a mistake is a sentence: {output}"
        )
        return output


def write_claims(project, **changes):
    """The three claims of the toy project, with some fields of the first changed (None removes)."""
    first = {
        "id": "toy.half",
        **CLAIM,
        "notebook": "coin",
        "expect": {"book": {"equals": 0.5, "within": 0.1}},
        "band": {"relative": 0.01},
    }
    first = {key: value for key, value in {**first, **changes}.items() if value is not None}
    others = {
        "toy.powers": ("coin", {"increasing": "strictly"}),
        "toy.words": ("words", {"at_least": 2}),
    }
    items = [first]
    for name, (notebook, expected) in others.items():
        items.append({"id": name, **CLAIM, "notebook": notebook, "expect": {"book": expected}})
    project.claims.write_text(yaml.safe_dump(items, allow_unicode=True))


def make_toy(root):
    """Write a toy project to a folder."""
    package = root / "toypkg"
    for folder in (package, root / "notebooks", root / "book" / "records"):
        folder.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "half.py").write_text(
        "from toypkg.two import TWO\n\n\ndef half(n):\n    return n / TWO\n"
    )
    (package / "two.py").write_text("TWO = 2\n")
    (package / "unrelated.py").write_text("X = 1\n")
    shutil.copy(ROOT / "_config.yml", root)
    shutil.copytree(ROOT / "book" / "assets", root / "book" / "assets")
    for page in ("ledger.md", "status.md"):
        shutil.copy(ROOT / "book" / page, root / "book")
    (root / "book" / "intro.md").write_text(
        "# Intro\n\n{cite:t}`liu2023same`\n\n```{bibliography}\n```\n"
    )
    (root / "book" / "references.bib").write_text(
        "@inproceedings{liu2023same, title={Same}, author={Liu, H.}, year={2023}, "
        "booktitle={ICML}}\n"
    )
    pages = [{"file": name} for name in ("chapters/coin", "chapters/words", "ledger", "status")]
    toc = {"format": "jb-book", "root": "intro", "chapters": pages}
    (root / "book" / "_toc.yml").write_text(yaml.safe_dump(toc))
    (root / "notebooks" / "coin.md").write_text(COIN)
    (root / "notebooks" / "words.md").write_text(WORDS)
    (root / "notebooks" / "profiles.yml").write_text("coin: {smoke: {n: 10}}\n")
    (root / "words.txt").write_text("one two three\n")
    project = Project(root, package)
    write_claims(project)
    return Toy(project)


def copied(toy, root):
    """A copy of a toy project, in another folder. Its stored runs answer for its sources."""
    shutil.copytree(toy.project.root, root)
    copy = Toy(Project(root, root / "toypkg"))
    assert [copy.reasons(name) for name in ("coin", "words")] == [[], []]
    return copy


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A toy project; the current folder is its root."""
    made = make_toy(tmp_path / "toy")
    monkeypatch.chdir(made.project.root)
    return made


@pytest.fixture(scope="session")
def executed_once(tmp_path_factory):
    """A toy project whose notebooks were executed, by real kernels. Nobody changes it."""
    made = make_toy(tmp_path_factory.mktemp("executed") / "toy")
    assert "2 notebooks in" in made.command("execute")
    return made


@pytest.fixture
def executed(executed_once, tmp_path, monkeypatch):
    """A toy project whose notebooks were executed: a copy, to be changed. The current folder is its
    root.
    """
    copy = copied(executed_once, tmp_path / "toy")
    monkeypatch.chdir(copy.project.root)
    return copy


@pytest.fixture
def no_kernel(monkeypatch):
    """A function: after it is called, starting a kernel is an error."""

    def reject(*_):
        raise AssertionError("a kernel was started")

    return lambda: monkeypatch.setattr("ntpcompanion.workflow.running.execute._in_kernel", reject)


def make_importable(toy, monkeypatch):
    """Let this process and those it starts import the package of a toy project."""
    monkeypatch.syspath_prepend(str(toy.project.root))
    monkeypatch.setenv("PYTHONPATH", str(toy.project.root))
    for name in [name for name in sys.modules if name.split(".")[0] == "toypkg"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def importable(toy, monkeypatch):
    """The toy project, whose package this process and those it starts can import."""
    make_importable(toy, monkeypatch)
    return toy


if __name__ == "__main__":
    Project.find = classmethod(lambda cls, start=None: cls(Path.cwd(), Path.cwd() / "toypkg"))
    commands.app()
