"""A bound on what is kept of a cell: of twenty thousand printed lines no reader looks at more than
a few, and to store and check them takes a minute.
"""

from collections import Counter

import nbformat

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.notebooks.cells import code_cells, is_injected

LINES, CHARACTERS, OUTPUTS = 1000, 200_000, 200  # of a stream of a cell; of a cell


def bound_outputs(node: nbformat.NotebookNode) -> list[str]:
    """Keep of each cell the first lines of its streams, its first outputs, and all measurements and
    records, and say below them what was left out; a sentence on each such cell for the user.
    """
    notes, number = [], 0
    for cell in code_cells(node):
        number += not is_injected(cell)
        left = [f"{count} {kind}" for kind, count in _cut(cell).items() if count]
        if left:
            text = f"\n… and {' and '.join(left)} more, which are not kept.\n"
            cell.outputs.append(nbformat.v4.new_output("stream", name="stdout", text=text))
            notes.append(
                f"code cell {number} showed more than {LINES} lines or {OUTPUTS} outputs: "
                f"{' and '.join(left)} are not kept. Print a summary."
            )
    return notes


def _cut(cell: nbformat.NotebookNode) -> Counter[str]:
    """Take from a cell what is beyond the bounds; how many characters and outputs that was."""
    left, lines, characters = Counter[str](), Counter[str](), Counter[str]()
    remaining: list[nbformat.NotebookNode] = []
    others = 0
    for output in cell.outputs:
        if output.output_type == "stream":
            name, whole = output.name, output.text
            text = whole[: max(CHARACTERS - characters[name], 0)]
            output.text = "".join(text.splitlines(keepends=True)[: max(LINES - lines[name], 0)])
            left["characters"] += len(whole) - len(output.text)
            lines[name] += output.text.count("\n")
            characters[name] += len(output.text)
            remaining += [output] if output.text else []
        elif others < OUTPUTS or {MEASUREMENT_MIME, RECORD_MIME} & set(output.get("data", {})):
            others += 1
            remaining.append(output)
        else:
            left["outputs"] += 1
    cell.outputs = remaining
    return left
