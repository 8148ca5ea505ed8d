"""The results file beside every executed notebook."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import nbformat

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, read_sealed, sha256, write_sealed
from ntpcompanion.workflow.base.provenance import Hardware, hardware_line
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.notebooks.cells import code_cells, is_injected, tags, written_cells
from ntpcompanion.workflow.notebooks.notebook import Notebook

SCHEMA = 2
# in the metadata of an output that a page draws otherwise: its HTML as the run made it, or None
RAN = "ntp-ran"


@dataclass(frozen=True, kw_only=True)
class Result:
    """One execution of one notebook: what it measured, and everything that made it.

    `defaults` are the values in the notebook's own parameters cell, whether they were used or not.
    `outputs` is the digest of the executed code cells. `key_parts` decide freshness. Times are in
    seconds, memory is in bytes.
    """

    notebook: str
    profile: str
    parameters: dict[str, object]
    overrides: dict[str, object]
    defaults: dict[str, object]
    measurements: list[Measurement]
    key: str
    key_parts: dict[str, Any]
    started: str
    seconds: float
    cell_seconds: list[float]
    peak_memory: int
    versions: dict[str, str]
    hardware: Hardware
    outputs: str
    schema: int = SCHEMA

    @property
    def measured(self) -> set[str]:
        return {item.claim for item in self.measurements}

    @property
    def machine(self) -> str:
        return f"{hardware_line(self.hardware)}, Python {self.versions['python']}"

    @property
    def took(self) -> str:
        """Its duration, with two digits where it is short."""
        digits = 1 if self.seconds < 9.95 else 0
        return f"{self.seconds:.{digits}f} seconds"

    def save(self, path: Path) -> None:
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        write_sealed(path, {**data, "measurements": [item.to_json() for item in self.measurements]})

    @classmethod
    def load(cls, path: Path) -> "Result":
        if not path.is_file():
            raise WorkflowError(f"{path} does not exist: the notebook has not been run.")
        data = read_sealed(path)
        data.pop("checksum")
        if data.get("schema") != SCHEMA or set(data) != set(cls.__dataclass_fields__):
            raise WorkflowError(
                f"{path} has schema {data.get('schema')!r}, this version reads {SCHEMA}. Run the "
                "notebook again."
            )
        try:
            measured = [Measurement.from_json(item) for item in data.pop("measurements")]
            return cls(**data, measurements=measured)
        except (TypeError, ValueError) as error:
            raise WorkflowError(f"{path}: {error} Run the notebook again.") from error


def outputs_digest(node: nbformat.NotebookNode) -> str:
    """SHA-256 of what a page takes from an executed notebook: kernel, sources and outputs of the
    code cells.

    How a measurement is drawn and the comments on defaults do not count.
    """
    cells = [cell for cell in code_cells(node) if "parameters" not in tags(cell)]
    ran = [
        [each.source, each.execution_count, is_injected(each), [*map(_bare, each.outputs)]]
        for each in cells
    ]
    kernel = [node.metadata.get(name) for name in ("kernelspec", "language_info")]
    return sha256(canonical_json([*kernel, ran]))


def collect_measurements(node: nbformat.NotebookNode, name: str) -> list[Measurement]:
    try:
        measurements = [Measurement.from_json(data) for data in _shown(node, MEASUREMENT_MIME)]
    except ValueError as error:
        raise WorkflowError(
            f"Notebook {name!r} shows what is not a measurement: {error} Only `measure` makes them."
        ) from error
    ids = [item.claim for item in measurements]
    twice = sorted({claim for claim in ids if ids.count(claim) > 1})
    if twice:
        raise WorkflowError(
            f"Notebook {name!r} measures {', '.join(twice)} more than once. One claim, one number."
        )
    return measurements


def require_measured(node: nbformat.NotebookNode, name: str, measured: Sequence[str]) -> None:
    """Raises WorkflowError if a call of `measure` left no value in the executed notebook."""
    shown = {item.claim for item in collect_measurements(node, name)}
    if lost := sorted(set(measured) - shown):
        raise WorkflowError(
            f"Notebook {name!r} called measure({lost[0]!r}, ...), and its value reached no "
            "output of a cell: `clear_output`, `%%capture`, a display hook, a widget, a thread or "
            "another process has taken it. Call it at the end of a cell, outside of these."
        )


def complaints(node: nbformat.NotebookNode) -> list[str]:
    """What cells wrote to stderr, such as Python's warnings, which the page shows: a line for each
    cell, which begins with its number among the code cells.
    """
    messages = []
    for number, cell in enumerate(written_cells(node), start=1):
        streams = [o for o in cell.outputs if o.output_type == "stream" and o.name == "stderr"]
        if text := "".join(stream.text for stream in streams).strip():
            messages.append(
                f"code cell {number} wrote to stderr, and a page would show it: "
                f"{text.splitlines()[0]}"
            )
    return messages


def require_listed_records(node: nbformat.NotebookNode, notebook: Notebook) -> None:
    """Raises WorkflowError if an executed notebook shows a record that its front matter does not
    list: nobody would see it change.
    """
    shown = {record["name"] for record in _shown(node, RECORD_MIME)}
    if stray := sorted(shown - set(notebook.settings.get("records", []))):
        raise WorkflowError(
            f"Notebook {notebook.name!r} shows the record {', '.join(stray)}, which its front "
            "matter does not list: "
            f"add `ntp: {{records: [{', '.join(stray)}]}}`, so that a new record runs the notebook "
            "again."
        )


def _shown(node: nbformat.NotebookNode, kind: str) -> list[Any]:
    data = [output.get("data", {}) for cell in written_cells(node) for output in cell.outputs]
    return [each[kind] for each in data if kind in each]


def draw(output: nbformat.NotebookNode, html: str) -> None:
    """Have a page show an output as `html`; what the run had made is kept beside it."""
    output.metadata.setdefault(RAN, output.data.get("text/html"))
    output.data["text/html"] = html


def as_run(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """An output without what a page draws: cards and banners, which are drawn anew at every build,
    and what `draw` has put there.
    """
    output = copy.deepcopy(output)
    data = output.get("data", {})
    drawn = RAN in output.get("metadata", {})
    if drawn or MEASUREMENT_MIME in data or RECORD_MIME in data:
        data.pop("text/html", None)
    if drawn and (made := output.metadata.pop(RAN)) is not None:
        data["text/html"] = made
    return output


def _bare(output: nbformat.NotebookNode) -> dict[str, Any]:
    return {key: value for key, value in as_run(output).items() if key != "execution_count"}
