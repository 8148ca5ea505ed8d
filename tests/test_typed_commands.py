"""What the workflows run, and what README, pages and notebooks tell to type, read without running
it: targets of make, options of commands, notebooks, records, modules and tests are there.
"""

import functools
import re
import shlex
import subprocess
from pathlib import Path

import typer.main
import yaml

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.cli.commands import app
from ntpcompanion.workflow.notebooks.notebook import choose, find_notebooks
from ntpcompanion.workflow.notebooks.profiles import parse_overrides
from tests.sources import FILES
from tests.toy import ROOT

BOOK = Project.read(ROOT)
# the page on a book of one's own is about this one
SMALL = Project.read(ROOT / "ntpcompanion" / "workflow" / "starting" / "template")
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "book").glob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.md")),
]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RUN = {
    f"{path.stem}: {job}, step {i}": step["run"]
    for path in WORKFLOWS
    for job, content in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
    for i, step in enumerate(content["steps"], 1)
    if "run" in step
} | {".ci/run": (ROOT / ".ci" / "run").read_text(encoding="utf-8")}
# a block of commands, and what stands in backticks on one line
TYPED = re.compile(
    r"^```bash\n(.*?)^```|`((?:make|ntpcompanion|python) [a-z-][^`\n]*)`", re.M | re.S
)
TO_FILL_IN = re.compile(r"[A-Z_]{4,}|K|\.+|\u2026|.*[\[{(].*")
COMMENT = re.compile(r"(?<!\S)#.*$", re.M)
SHELLS_OWN = re.compile(r"[A-Za-z_]+=.*|[{}!]|then|else|fi|if|do|done")
NAMING = ("execute", "why")  # what takes names of notebooks
PARSER = typer.main.get_command(app)


notebooks = functools.cache(lambda project: find_notebooks(Project.read(project)))


def commands(text):
    """The words of each simple command of a text for a shell, without assignments, redirections
    and what a shell itself understands.
    """
    text = COMMENT.sub("", text.replace("\\\n", " "))
    lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    words, target = [], False
    for token in [*lexer, ";"]:
        if set(token) <= set("();|&\n"):
            if words:
                yield words
            words = []
        elif set(token) <= set("<>&"):
            target = True
            words = words[:-1] if words and words[-1].isdigit() else words
        elif target:
            target = False
        elif words or not SHELLS_OWN.fullmatch(token):
            words.append(token)


def faults_of(text, project=BOOK):
    """What the commands of a text name that does not exist, in a list of sentences."""
    return [fault for words in commands(text) for fault in _faults(words, project)]


def _faults(words, project):
    program, arguments = Path(words[0]).name, words[1:]
    if any(TO_FILL_IN.fullmatch(word) for word in arguments):
        return []
    if "-m" in words and program.startswith(("python", "torchrun")):
        program, arguments = _module(words[words.index("-m") + 1 :])
    if program == "make":
        return [f"make {word}" for word in arguments if not _made(word, project)]
    if program == "pytest":
        return [word for word in arguments if "tests/" in word and not _collected(word)]
    if program == "ntpcompanion":
        return _no_command(arguments, project)
    return [program] if program.startswith("no module") else []


def _module(words):
    """The program that a module is, and its arguments."""
    name, *arguments = words
    path = ROOT / name.replace(".", "/")
    if name == "ntpcompanion" or name == "pytest":
        return name, arguments
    own = name.partition(".")[0] in ("ntpcompanion", "tests")
    there = path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
    return ("module" if there or not own else f"no module {name}"), arguments


def _made(word, project):
    """Whether make knows the target, or uses the variable."""
    makefile = (project.root / "Makefile").read_text(encoding="utf-8")
    name, assigned, _ = word.partition("=")
    if assigned:
        return f"$({name})" in makefile
    return bool(re.search(rf"^({re.escape(word)}:|\w+ := {re.escape(word)}$)", makefile, re.M))


def _collected(word):
    """Whether the file or folder, and the test in it, that an argument names, are there."""
    path, named, test = word.rpartition("=")[2].partition("::")
    if not named:
        return (ROOT / path).exists()
    return (ROOT / path).is_file() and f"def {test}" in (ROOT / path).read_text(encoding="utf-8")


def _no_command(arguments, project):
    """What is wrong with a command line of the program, by its own parser and its own checks."""
    try:
        _, command, rest = PARSER.resolve_command(
            PARSER.make_context("ntpcompanion", list(arguments)), list(arguments)
        )
        # a command that is only mentioned
        given = command.make_context(command.name, list(rest)).params if rest else {}
        named = [given["name"]] if "name" in given else given.get("names")
        if command.name in NAMING and named:
            for notebook in choose(notebooks(project.root), named):
                parse_overrides(notebook, given.get("parameter") or [])
    except (typer.BadParameter.__base__, WorkflowError) as error:
        return [str(error)]
    return []


def test_the_steps_of_workflows_are_bash_and_run_what_exists():
    faults = []
    for where, text in RUN.items():
        done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
        project = SMALL if where.startswith("book: make") else BOOK
        found = [done.stderr] * (done.returncode != 0) + faults_of(text, project)
        faults += [f"{where}: {fault}" for fault in found]
    assert faults == []
    assert ["make", "release", "pdf"] in list(commands(RUN["publish: make, step 3"]))


def test_what_pages_and_messages_tell_to_type_exists():
    faults, pages = [], 0
    for path in PAGES:
        found = TYPED.findall(path.read_text(encoding="utf-8"))
        pages += bool(found)
        project = SMALL if path.name == "own_companion.md" else BOOK
        faults += [f"{path.name}: {it}" for one in found for it in faults_of("".join(one), project)]
    for path in FILES:
        for target in re.findall(r"`make ([a-z-]+)`", path.read_text(encoding="utf-8")):
            faults += [f"{path.name}: {fault}" for fault in faults_of(f"make {target}")]
    assert faults == []
    assert pages > 20
