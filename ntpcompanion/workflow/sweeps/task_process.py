"""A task of an experiment in a process and a folder of its own, which holds only what it declares:
started by a worker, ended with it.
"""

import contextlib
import dataclasses
import functools
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, read_json, sha256, write_atomically
from ntpcompanion.workflow.base.processes import Lifeline, end_tree
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware, library_versions, python_minor
from ntpcompanion.workflow.base.tracing import outside, read_events, state_of
from ntpcompanion.workflow.hashing.imported_files import source_hashes
from ntpcompanion.workflow.hashing.statements import folder_hash
from ntpcompanion.workflow.running.freshness import place_name
from ntpcompanion.workflow.running.layout import Layout, files_below_root, lay_out
from ntpcompanion.workflow.running.start import RUNNING, Start, surroundings_of
from ntpcompanion.workflow.running.undeclared import Undeclared, texts_of
from ntpcompanion.workflow.sweeps import task_program
from ntpcompanion.workflow.sweeps.executors import KILLED, NotDone, Outcome

CHANGED = "changed"
HOW = (
    'Add it to `FILES = ("{name}",)` in the module of the experiment, or let a field of its plan '
    'name it and list that field, `INPUTS = ("field",)`; a folder may be named whole.'
)


def inputs_read(project: Project, log: Path, sources: Iterable[str]) -> dict[str, str]:
    """The digest of each file that a task has read, and of the names in each folder that it has
    listed, by name; without what lies below `_build` or beside the log, the package that runs this,
    and the `sources` of packages, which are named relative to the first of them.

    A file, of the sources too, that had another content when it was read than it has now has the
    digest `CHANGED`, which fits no file.
    """
    known = {(project.package / name.partition(":")[0]).resolve() for name in sources}
    tool = [] if RUNNING in project.packages else [RUNNING]
    counts = outside([*map(str, (project.build, log.parent, *tool))])
    read = {}
    for name, digests in sorted(read_events(log).read.items()):
        path = Path(name)
        digest = digests[0] if digests == [state_of(path)] else CHANGED
        if counts(name) and (digest == CHANGED or path not in known):
            read[place_name(project, name)] = digest
    return read


def present_digests(project: Project) -> Callable[[str], str]:
    """A function: the digest that the file of a name has now. Each file is read once."""
    return functools.cache(lambda name: state_of(project.root / name))


def changed_inputs(digest: Callable[[str], str], read: Mapping[str, str]) -> list[str]:
    """The names of the files whose `digest` now is not that of what was `read`."""
    return [name for name, seen in read.items() if digest(name) != seen]


@functools.cache
def _tool_hash() -> str:
    """Of the package that runs this, when this process was first asked."""
    return folder_hash(RUNNING)


def settings_of(project: Project) -> dict[str, str]:
    """What decides numbers here beside sources and data: Python, the libraries without the suffix
    of their build (`2.9.0+cu128` is `2.9.0`), the start of a SHA-256 of each variable that tasks
    may read, whose value may be a secret, and that of the package that runs this where it is a
    library.
    """
    tool = {} if RUNNING in project.packages else {RUNNING.name: f"#{_tool_hash()[:8]}"}
    versions = library_versions(project.settings.libraries).items()
    variables = filter(os.environ.__contains__, project.settings.environment)
    return {
        "Python": python_minor(),
        **tool,
        **{name: version.partition("+")[0] for name, version in versions},
        **{f"the variable {name}": f"#{sha256(os.environ[name])[:8]}" for name in variables},
    }


def package_folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise WorkflowError(f"the package {package!r} is not installed there")
    return Path(next(iter(spec.submodule_search_locations)))


def project_here(project: Project, place: Path) -> tuple[Project, Path]:
    """The project of the command and a place below it, or on another machine those of the installed
    packages.
    """
    if project.notebooks.is_dir():
        return project, place
    first, *others = (package_folder(folder.name) for folder in project.packages)
    root = Project.find(first).root
    moved = dataclasses.replace(project, root=root, package=first, others=tuple(others))
    return moved, root / place.relative_to(project.root)


def run_experiment(
    project: Project,
    module: str,
    sources: Mapping[str, str],
    settings: Mapping[str, str],
    inputs: Sequence[str],
    point: dict[str, Any],
    *,
    place: Path,
    lifeline: Lifeline | None = None,
) -> Outcome:
    """Run an experiment at a point: its `result`, the digests of the data files that it `read`, and
    `notes` for its user.

    `sources` and `settings` are those that the command has planned with, `inputs` the files and
    folders that the experiment declares. The checkpoints below `place` are used again after an
    interruption, by the same kind of machine and with the same data files. Its process does not
    outlive the `lifeline`, or this process. Raises NotDone if the task failed, its process was
    killed, or something else was planned with.
    """
    present, place = project_here(project, place)
    task_folder = place / sha256(canonical_json(hardware()))[:8]
    checkpoint, log = task_folder / "checkpoint", task_folder / "opened"
    if changed_inputs(present_digests(present), inputs_read(present, log, sources)):
        shutil.rmtree(task_folder)  # of a run that was interrupted
    task_folder.mkdir(parents=True, exist_ok=True)
    # not on the disk of the project: where that is full, the journal says so
    with tempfile.TemporaryDirectory(prefix="ntp-task-") as scratch:
        folder = Path(os.path.realpath(scratch))
        _require_planned(present, module, sources, settings)
        within, others = _declared(present, module, inputs)
        layout = lay_out(present, folder / "run", sources, within)
        _write_down(layout, within, log)
        around = surroundings_of(present)
        start = Start.of(layout, around, (*others, str(task_folder)))
        job = {"module": module, "point": point, "checkpoint": str(checkpoint)}
        answer = _answer(start, job, around.environment, folder / "private", log, lifeline)
        _require_planned(present, module, sources, settings)
        name = f"experiment {module.rpartition('.')[2]!r}"
        undeclared = Undeclared(
            project=present,
            name=f"The {name}",
            code=f"the {name}",
            folder=layout.folder,
            allowed=(*start.import_path, *start.readable),
            texts=texts_of(_source(layout, module), point),
            how=HOW,
        )
        answer["read"] = inputs_read(present, log, sources)
        return _checked(answer, undeclared, sorted(read_events(log).absent), layout.written())


def _declared(
    project: Project, module: str, inputs: Iterable[str]
) -> tuple[dict[str, Path], list[str]]:
    """The declared files and folders below the root, by their paths there, and the others."""
    paths = [Path(os.path.normpath(project.root / name)) for name in inputs]
    others = [str(path) for path in paths if not path.is_relative_to(project.root)]
    within = [str(path.relative_to(project.root)) for path in paths if str(path) not in others]
    return files_below_root(project, within, f"The experiment {module}"), others


def _write_down(layout: Layout, declared: Mapping[str, Path], log: Path) -> None:
    """A line of the log for each file that was laid out but stubs, and for each declared folder."""
    lines = [
        ("read", str(layout.origins[name].resolve()), digest)
        for name, digest in layout.files.items()
        if not name.endswith(".pyi")
    ]
    for place in declared.values():
        for folder, _, _ in os.walk(place, followlinks=True):
            lines.append(("listed", str(Path(folder).resolve()), state_of(Path(folder))))
    with log.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def _answer(
    start: Start,
    job: dict[str, Any],
    environment: Mapping[str, str],
    private: Path,
    log: Path,
    lifeline: Lifeline | None,
) -> Outcome:
    private.mkdir()
    variables = {**environment, **start.environment(private, log)}
    program, job_file = private / "start" / "ntp_task.py", private / "job.json"
    answer = private / "answer.json"
    shutil.copyfile(task_program.__file__, program)
    write_atomically(job_file, json.dumps({**job, "answer": str(answer)}))
    command = start.command(private, str(program), str(job_file))
    with (
        contextlib.nullcontext(lifeline) if lifeline else Lifeline() as parent,
        subprocess.Popen(
            command, stdin=parent.stdin, env=variables, cwd=start.folder, text=True
        ) as process,
    ):
        try:
            process.wait()
        except BaseException:
            end_tree(process)
            raise
    with contextlib.suppress(WorkflowError):
        if isinstance(answered := read_json(answer), dict):
            return answered
    return {"state": "killed", "error": KILLED}


def _source(layout: Layout, module: str) -> str:
    below = f"{module.replace('.', '/')}.py"
    paths = [place / below for place in layout.import_path if (place / below).is_file()]
    return paths[0].read_text(encoding="utf-8") if paths else ""


def _checked(
    answer: Outcome, undeclared: Undeclared, absent: list[str], written: Sequence[str]
) -> Outcome:
    """The answer of a task that is done, with notes on what it asked for and does not declare."""
    if answer["state"] == "failed":
        hints = undeclared.after_failure(answer["error"], absent)
        answer["traceback"] = "\n".join([answer["traceback"].rstrip("\n"), *hints])
    if answer["state"] != "done":
        raise NotDone(**answer)
    others = [name for name in answer["read"] if Path(name).is_absolute()]
    try:
        notes = undeclared.after_success(absent, others)
    except WorkflowError as error:
        answer |= {"state": "failed", "result": None, "error": str(error)}
        raise NotDone(**answer) from error
    if written:
        notes.append(
            f"{undeclared.name} wrote {', '.join(written)} in its own folder, which is removed. "
            "Return what is to be kept, or write it below `checkpoint`."
        )
    return {**answer, "notes": notes}


def _require_planned(
    project: Project, module: str, sources: Mapping[str, str], settings: Mapping[str, str]
) -> None:
    present = source_hashes(f"import {module}", *project.packages)
    names = sorted({*present, *sources})
    if changed := [name for name in names if present.get(name) != sources.get(name)]:
        raise NotDone(state="rejected", error=f"has other sources: {', '.join(changed[:3])}")
    present_settings = settings_of(project)
    names = [
        name
        for name in {**settings, **present_settings}
        if settings.get(name) != present_settings.get(name)
    ]
    if other := [
        f"{name} {present_settings.get(name, 'missing')} instead of {settings.get(name, 'none')}"
        for name in names[:3]
    ]:
        raise NotDone(state="rejected", error=f"has {', '.join(other)}")
