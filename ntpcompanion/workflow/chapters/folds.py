"""What a page shows at first. Of code nothing: that of cells tagged `hide-input` stands in folds,
which a reader opens one by one or all at once, and the rest not at all; the notebook keeps every
cell. Of cards that stand together the first few: the rest wait in one strip that opens.
"""

from collections.abc import Container, Mapping, Sequence

import nbformat

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.claims.verdict import JudgedClaim, tally
from ntpcompanion.workflow.notebooks.cells import tags

FOLDED = {"hide-input", "hide_input"}  # tags of MyST-NB
STANDING = 4  # cards of one run that are shown at once; where more wait, one less and the strip
TAG = "strip"  # a code cell with this tag measures what only supports the cards before
_GLUED = "application/papermill.record/"
_NO_OUTPUT = {"remove-output", "remove_output", "remove-cell", "remove_cell"}


def hide_code(cells: list[nbformat.NotebookNode]) -> None:
    """Take every input off the page, but for the tagged ones, which MyST-NB folds. The code cells
    are changed in place: their tags only, never their source or outputs.
    """
    for cell in cells:
        if cell.cell_type == "code" and not tags(cell) & FOLDED:
            # an empty frame would take room on the page
            taken_off = "remove-input" if shows_output(cell) else "remove-cell"
            cell.metadata["tags"] = sorted(tags(cell) | {taken_off})


def shows_output(cell: nbformat.NotebookNode) -> bool:
    """Whether anything of what a code cell put out is to be seen: glued values are not."""
    outputs = [] if tags(cell) & _NO_OUTPUT else cell.get("outputs", [])
    return any(output.output_type in ("stream", "error") or _is_seen(output) for output in outputs)


def _is_seen(output: nbformat.NotebookNode) -> bool:
    return any(not mime.startswith(_GLUED) for mime in output.get("data", {}))


def gather_cards(cells: list[nbformat.NotebookNode], judged: Mapping[str, JudgedClaim]) -> None:
    """Put the cards of each run beyond four, and those of cells tagged `strip`, into one strip, in
    the place of the first of them. With its strip a run takes the room of four cards.

    What is not among the `judged` claims has no card. The outputs are changed in place: only how
    they are drawn.
    """
    waiting = {id(item) for cell in cells if TAG in tags(cell) for item in cell.get("outputs", [])}
    for run in card_runs(cells, judged):
        standing = [output for output in run if id(output) not in waiting]
        maximum = STANDING if len(standing) == len(run) <= STANDING else STANDING - 1
        standing = standing[:maximum]
        rest = [output for output in run if not any(output is one for one in standing)]
        if not rest:
            continue
        verdicts = [judged[output.data[MEASUREMENT_MIME]["id"]].counted_as for output in rest]
        drawn = "".join(output.data["text/html"] for output in rest)
        title = summary(verdicts, more=bool(standing))
        opening = f'<details class="ntp-strip"><summary>{title}</summary>'
        for output in rest:
            output.data["text/html"] = ""
        rest[0].data["text/html"] = f"{opening}{drawn}</details>"


def card_runs(
    cells: list[nbformat.NotebookNode], claims: Container[str]
) -> list[list[nbformat.NotebookNode]]:
    """The outputs with cards that stand together on a page: nothing else is seen between them."""
    runs: list[list[nbformat.NotebookNode]] = [[]]
    for cell in cells:
        if cell.cell_type != "code":
            if cell.source.strip():
                runs.append([])
            continue
        for output in cell.outputs:
            data = output.get("data", {})
            if MEASUREMENT_MIME in data and data[MEASUREMENT_MIME]["id"] in claims:
                runs[-1].append(output)
            elif not data or _is_seen(output):
                runs.append([])
    return [run for run in runs if run]


def summary(verdicts: Sequence[str], more: bool = True) -> str:
    """`5 more claims: 4 supported, 1 refuted (ours)`; without `more` where no card stands."""
    claims = f"{'more ' * more}claim{'s' * (len(verdicts) > 1)}"
    counts = tally(verdicts)
    return (
        f"{len(verdicts)} {claims}: {counts.removeprefix('1 ') if len(verdicts) == 1 else counts}"
    )
