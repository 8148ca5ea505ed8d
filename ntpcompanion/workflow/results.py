"""The results file beside every executed notebook."""

from dataclasses import asdict, dataclass
from pathlib import Path

import nbformat

from ntpcompanion.workflow.cells import code_cells, tags, written_cells
from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.files import canonical_json, read_sealed, sha256, write_sealed
from ntpcompanion.workflow.measure import MEASUREMENT_MIME, RECORD_MIME

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Result:
    """One execution of one notebook: what it measured, and everything that made it.

    `outputs` is the digest of the executed code cells; `key_parts` decide freshness; times in seconds, memory in bytes.
    """

    notebook: str
    profile: str
    parameters: dict
    overrides: dict
    measurements: list[dict]
    key: str
    key_parts: dict
    started: str
    seconds: float
    cell_seconds: list[float]
    peak_memory: int
    versions: dict
    hardware: dict
    outputs: str
    schema: int = SCHEMA

    def save(self, path: Path) -> None:
        """Write the file, sealed with a checksum."""
        write_sealed(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> "Result":
        """Read and check the file. Raises WorkflowError if it is missing, damaged, or of another schema."""
        if not path.is_file():
            raise WorkflowError(f"{path} does not exist: the notebook has not been run.")
        data = read_sealed(path)
        data.pop("checksum")
        if data.get("schema") != SCHEMA or set(data) != set(cls.__dataclass_fields__):
            raise WorkflowError(f"{path} has schema {data.get('schema')!r}, this version reads {SCHEMA}. Run the notebook again.")
        return cls(**data)


def outputs_digest(node: nbformat.NotebookNode) -> str:
    """SHA-256 of sources and outputs of the code cells; how a measurement is drawn and the comments on defaults do not count."""
    cells = [cell for cell in code_cells(node) if "parameters" not in tags(cell)]
    return sha256(canonical_json([[cell.source, [_bare(output) for output in cell.outputs]] for cell in cells]))


def collect_measurements(node: nbformat.NotebookNode) -> list[dict]:
    """All measurements among the outputs, in order, each with the number of its code cell in the text, from 1.

    Raises WorkflowError if one id comes twice.
    """
    found: list[dict] = []
    for index, cell in enumerate(written_cells(node), 1):
        for output in cell.outputs:
            data = output.get("data", {}).get(MEASUREMENT_MIME)
            if data is not None:
                found.append({**data, "cell": index})
    ids = [item["id"] for item in found]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise WorkflowError(f"The notebook measures {', '.join(twice)} more than once. One claim, one number.")
    return found


def _bare(output: nbformat.NotebookNode) -> dict:
    data = output.get("data", {})
    if drawn_at_build := {mime: data[mime] for mime in (MEASUREMENT_MIME, RECORD_MIME) if mime in data}:
        return drawn_at_build
    return {key: value for key, value in output.items() if key != "execution_count"}
