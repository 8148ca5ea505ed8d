"""A bound on what is kept of the outputs of a cell: of twenty thousand printed lines no reader
looks at more than a few, and to store and check them takes a minute.
"""

from collections import Counter

import nbformat

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.notebooks.cells import written_cells

LINES, CHARACTERS, OUTPUTS = 1000, 200_000, 200  # of a stream of a cell; of a cell


def bound(node: nbformat.NotebookNode) -> list[str]:
    """Keep of each cell of an executed notebook the first lines of its streams, its first outputs,
    and all measurements and records. What was left out is said below its outputs, and in a note for
    the user, for each cell.
    """
    notes = []
    for number, cell in enumerate(written_cells(node), start=1):
        if left := " and ".join(f"{count} {kind}" for kind, count in _bound(cell).items() if count):
            text = f"\n… and {left} more, which are not kept.\n"
            cell.outputs.append(nbformat.v4.new_output("stream", name="stdout", text=text))
            notes.append(
                f"code cell {number} showed more than {LINES} lines or {OUTPUTS} outputs: {left} "
                "are not kept. Print a summary."
            )
    return notes


def _bound(cell: nbformat.NotebookNode) -> Counter[str]:
    """Bound the outputs of a cell; the numbers of characters and outputs that were left out."""
    left, lines, characters = Counter[str](), Counter[str](), Counter[str]()
    outputs = []
    for out in cell.outputs:
        if out.output_type == "stream":
            all_lines = out.text[: CHARACTERS - characters[out.name]].splitlines(keepends=True)
            first = "".join(all_lines[: LINES - lines[out.name]])
            left["characters"] += len(out.text) - len(first)
            characters[out.name] += len(first)
            lines[out.name] += first.count("\n")
            out.text = first
            outputs += [out] if first else []
        elif (
            left["shown"] < OUTPUTS
            or out.output_type == "error"
            or {MEASUREMENT_MIME, RECORD_MIME} & set(out.get("data", {}))
        ):
            outputs.append(out)
            left["shown"] += 1
        else:
            left["outputs"] += 1
    cell.outputs = outputs
    del left["shown"]
    return left
