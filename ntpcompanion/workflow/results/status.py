"""The status page: what was run and recorded, when, on what, and whether it is up to date."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ntpcompanion.workflow.base.files import canonical_json
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.records.plans import Queue, read_plans
from ntpcompanion.workflow.records.record import Record, first_of, read_stored
from ntpcompanion.workflow.results.views import View


class Status(View):
    """The runs of a profile."""

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
        """Where it was made."""
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
    """The records that are planned; `record(name)` loads one. Raises WorkflowError as
    `read_stored`.
    """
    rows = []
    for name, plan in read_plans(project).items():
        row = RecordRow(name, {}, queue=plan.queue)
        if (project.records / f"{name}.json").is_file():
            changed = first_of(record(name).outdated)
            row = RecordRow(name, read_stored(project, name)[1], changed)
        rows.append(row)
    return rows
