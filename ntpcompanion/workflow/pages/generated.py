"""What a build writes beside the chapters: the parts of the pages on results, and their data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.files import canonical_json, write_atomically
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.base.yaml_files import read_optional
from ntpcompanion.workflow.pages.landing import (
    LANDING,
    Landing,
    LandingPage,
    landing_page,
    read_parts,
)
from ntpcompanion.workflow.pages.ledger import Ledger, data_row, ledger_csv, ledger_json
from ntpcompanion.workflow.pages.stated_results import (
    QUESTIONS,
    STATED,
    Listed,
    Question,
    answered,
    chapters_that_state,
    placed,
)
from ntpcompanion.workflow.pages.templating import fill
from ntpcompanion.workflow.pages.views import View
from ntpcompanion.workflow.records.record import Queue, Record, first_of, read_plans, read_stored


class Status(View):
    @property
    def machines(self) -> list[tuple[list[str], str, dict[str, str]]]:
        """Titles of the notebooks that were made on equal machines with equal versions, none where
        that are all; the machine, and the versions.
        """
        made: dict[str, list[str]] = {}
        for name, result in self.results.items():
            made.setdefault(canonical_json([result.hardware, result.versions]), []).append(name)
        machines = []
        for names in made.values():
            hardware, versions = self.results[names[0]].hardware, self.results[names[0]].versions
            system = f"{hardware['system']} {hardware['machine']}"
            line = f"{hardware_line(hardware)}, {hardware['memory_gib']} GiB, {system}"
            titles = [self.title(name) for name in names] if len(made) > 1 else []
            machines.append((titles, line, versions))
        return machines


@dataclass(frozen=True)
class RecordRow:
    """A planned record: what its file holds, and which definitions have changed since; empty where
    it was not made yet, and where none has. `queue` where it waits for a larger machine.
    """

    name: str
    stored: Mapping[str, Any]
    changed: str = ""
    queue: Queue | None = None

    @property
    def computing(self) -> str:
        """Hours, minutes and seconds, such as `0:07:12`."""
        return str(timedelta(seconds=round(self.stored["seconds"])))

    @property
    def machine(self) -> str:
        return hardware_line(self.stored["hardware"])

    @property
    def again(self) -> str:
        """Which of its tasks were run again, and how far their results lay apart."""
        if not self.stored["verified"]:
            return "–"
        last = self.stored["verified"][-1]
        deviation = f", deviation {last['deviation']:.1g}" if last["deviation"] else ", equal"
        return f"{last['tasks']} of {last['of']} tasks, {last['date'][:10]}{deviation}"


def record_rows(project: Project, record: Callable[[str], Record]) -> list[RecordRow]:
    """The records that are planned; `record(name)` loads one."""
    rows = []
    for name, plan in read_plans(project).items():
        row = RecordRow(name, {}, queue=plan.queue)
        if (project.records / f"{name}.json").is_file():
            changed = first_of(record(name).outdated)
            row = RecordRow(name, read_stored(project, name)[1], changed)
        rows.append(row)
    return rows


def write_generated(
    project: Project, source: Path, view: View, record: Callable[[str], Record]
) -> dict[str, str]:
    """Write them into `source`, the book folder that is rendered, and return the texts by file
    name; `record(name)` loads a record.

    Texts begin with an underscore: pages include them, and Sphinx reads them nowhere else. Raises
    WorkflowError with what is wrong with the files that they are made from.
    """
    rows = [data_row(one) for one in view.judged.values()]
    texts = {
        "_ledger.md": fill("ledger.md", Ledger(**vars(view))),
        "_status.md": fill("status.md", Status(**vars(view))),
        "_records.md": fill("records.md", record_rows(project, record)),
        "_theorems.md": fill("theorems.md", chapters_that_state(view.notebooks)),
        "_data/ledger.json": ledger_json(rows, view.results, view.profile),
        "_data/ledger.csv": ledger_csv(rows),
    }
    if (stated := read_optional(project.book / STATED, Listed)) is not None:
        texts["_statements.md"] = fill("statements.md", placed(stated, view))
    if (questions := read_optional(project.book / QUESTIONS, list[Question])) is not None:
        texts["_open_questions.md"] = fill("open_questions.md", answered(questions, view))
    if (landing := read_optional(project.book / LANDING, Landing)) is not None:
        parts = read_parts(project)
        texts |= landing_page(LandingPage(**vars(view), landing=landing, parts=parts))
    for name, text in texts.items():
        write_atomically(source / "chapters" / name, text)
    return texts
