"""The status page: what was run and recorded, when, on what, and whether it is up to date."""

import re
from collections.abc import Callable, Mapping
from html import escape

from ntpcompanion.workflow.base.files import canonical_json
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import Hardware, hardware_line
from ntpcompanion.workflow.claims.formatting import in_myst
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.records.plans import read_plans
from ntpcompanion.workflow.records.record import Record, first_of, read_stored
from ntpcompanion.workflow.results.list_tables import list_table
from ntpcompanion.workflow.running.results import Result


def status_page(
    results: Mapping[str, Result], notebooks: Mapping[str, Notebook], profile: str
) -> str:
    """A table of runs, then each machine and set of versions they were made with."""
    rows = [["Notebook", "Executed (UTC)", "Seconds", "Peak memory", "Key"]]
    rows += [_run_row(notebook, results.get(name)) for name, notebook in notebooks.items()]
    parts = [f"Profile: *{profile}*.", _table([36, 20, 12, 16, 16], rows)]
    made: dict[str, list[str]] = {}  # the notebooks made on equal machines with equal versions
    for name, result in results.items():
        made.setdefault(canonical_json([result.hardware, result.versions]), []).append(name)
    for names in made.values():
        result = results[names[0]]
        titles = "all notebooks"
        if len(made) > 1:
            titles = ", ".join(notebooks[name].title for name in names)
        rows = [["Library", "Version"], *(list(pair) for pair in result.versions.items())]
        parts += [f"Made on {_machine(result.hardware)}: {titles}", _table([50, 50], rows)]
    return "\n\n".join(parts) + "\n"


def records_table(project: Project, record: Callable[[str], Record]) -> str:
    """A table of the recorded runs that are planned; `record(name)` loads one. Raises WorkflowError
    as `read_stored`.
    """
    names = list(read_plans(project))
    if not names:
        return "No runs are recorded.\n"
    rows = [["Record", "Made", "Computing", "Machine", "State", "Run again since"]]
    for name in names:
        made = (project.records / f"{name}.json").is_file()
        rows.append(_record_row(project, record(name)) if made else _unmade_row(name))
    return _table([20, 12, 12, 22, 17, 17], rows) + "\n"


def duration(seconds: float) -> str:
    """`42 s`, `7 min` or `3.2 h`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _record_row(project: Project, record: Record) -> list[str]:
    data = read_stored(project, record.name)[1]
    state = "up to date"
    if record.outdated:
        state = f"**outdated**: {in_myst(escape(first_of(record.outdated)))}"
    again = "–"
    if data["verified"]:
        last = data["verified"][-1]
        deviation = f", deviation {last['deviation']:.1g}" if last["deviation"] else ", equal"
        again = f"{last['tasks']} of {last['of']} tasks, {last['date'][:10]}{in_myst(deviation)}"
    return [
        f"`{record.name}`",
        data["finished"][:10],
        duration(data["seconds"]),
        in_myst(hardware_line(data["hardware"])),
        state,
        again,
    ]


def _unmade_row(name: str) -> list[str]:
    return [f"`{name}`", "not made yet", "–", "–", "–", "–"]


def _run_row(notebook: Notebook, result: Result | None) -> list[str]:
    link = f'<a href="chapters/{notebook.name}.html">{in_myst(notebook.title)}</a>'
    if result is None:
        return [link, "not run", "", "", ""]
    executed = result.started[:16].replace("T", " ")
    memory = f"{result.peak_memory / 2**20:.0f} MiB"
    return [link, executed, f"{result.seconds:.1f}", memory, f"`{result.key[:12]}`"]


def _machine(hardware: Hardware) -> str:
    system = f"{hardware['system']} {hardware['machine']}"
    return f"{hardware_line(hardware)}, {hardware['memory_gib']} GiB, {system}"


def _table(widths: list[int], rows: list[list[str]]) -> str:
    shown = list_table([[_inline(cell) for cell in row] for row in rows], widths)
    return f"::::{{div}} ntp-scroll\n{shown}\n::::"


def _inline(text: str) -> str:
    """One line of MyST that starts no quotation, list, heading or number, whatever it begins with:
    `> 0` is a predicate.
    """
    line = " ".join(text.split())
    return "\\" + line if re.match(r"[>\-+=#*](?!\*)", line) else line
