"""What a page shows at first. Code is hidden: cells tagged `hide-input` are folded, for a reader to
open one by one or all at once, and the code of all others is left off the page, though not off the
notebook. Of neighbouring cards the first few are shown; the others go into one strip that opens.
"""

from collections.abc import Container, Mapping, Sequence

import nbformat

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.claims.verdict import JudgedClaim, tally
from ntpcompanion.workflow.notebooks.cells import REMOVING, tags

FOLD_TAG = "hide-input"  # of MyST-NB
MAX_SHOWN = 4  # neighbouring cards; with a strip, one fewer
STRIP_TAG = "strip"  # a code cell with this tag measures what only supports the cards before
_GLUE_MIME = "application/papermill.record/"


def hide_code(cells: list[nbformat.NotebookNode]) -> None:
    """Take every input off the page, but for the tagged ones, which MyST-NB folds. The code cells
    are changed in place: their tags only, never their source or outputs.
    """
    for cell in cells:
        if cell.cell_type == "code" and FOLD_TAG not in tags(cell):
            # an empty frame would take room on the page
            removal_tag = "remove-input" if shows_output(cell) else "remove-cell"
            cell.metadata["tags"] = sorted(tags(cell) | {removal_tag})


def shows_output(cell: nbformat.NotebookNode) -> bool:
    """Whether anything of what a code cell put out is to be seen: glued values are not."""
    outputs = [] if tags(cell) & REMOVING else cell.get("outputs", [])
    return any(output.output_type in ("stream", "error") or _is_seen(output) for output in outputs)


def _is_seen(output: nbformat.NotebookNode) -> bool:
    return any(not mime.startswith(_GLUE_MIME) for mime in output.get("data", {}))


def gather_cards(cells: list[nbformat.NotebookNode], judged: Mapping[str, JudgedClaim]) -> None:
    """Show of neighbouring cards at most four, or three and a strip of the others, which stands in
    the place of the first of them. Cards of cells tagged `strip` always go into it.

    What is not among the `judged` claims has no card. The outputs are changed in place: only how
    they are drawn.
    """
    folded = {
        id(item) for cell in cells if STRIP_TAG in tags(cell) for item in cell.get("outputs", [])
    }
    for group in card_groups(cells, judged):
        shown = [output for output in group if id(output) not in folded]
        maximum = MAX_SHOWN if len(shown) == len(group) <= MAX_SHOWN else MAX_SHOWN - 1
        shown = shown[:maximum]
        rest = [output for output in group if not any(output is one for one in shown)]
        if not rest:
            continue
        verdicts = [judged[output.data[MEASUREMENT_MIME]["id"]].counted_as for output in rest]
        drawn = "".join(output.data["text/html"] for output in rest)
        title = summary(verdicts, more=bool(shown))
        opening = f'<details class="ntp-strip"><summary>{title}</summary>'
        for output in rest:
            output.data["text/html"] = ""
        rest[0].data["text/html"] = f"{opening}{drawn}</details>"


def card_groups(
    cells: list[nbformat.NotebookNode], claims: Container[str]
) -> list[list[nbformat.NotebookNode]]:
    """The outputs with cards that stand together on a page: nothing else is seen between them."""
    groups: list[list[nbformat.NotebookNode]] = [[]]
    for cell in cells:
        if cell.cell_type != "code":
            if cell.source.strip():
                groups.append([])
            continue
        for output in cell.outputs:
            data = output.get("data", {})
            if MEASUREMENT_MIME in data and data[MEASUREMENT_MIME]["id"] in claims:
                groups[-1].append(output)
            elif not data or _is_seen(output):
                groups.append([])
    return [group for group in groups if group]


def summary(verdicts: Sequence[str], more: bool = True) -> str:
    """`5 more claims: 4 supported, 1 refuted (ours)`; without `more` where no card is shown before
    the strip.
    """
    claims = f"{'more ' * more}claim{'s' * (len(verdicts) > 1)}"
    counts = tally(verdicts)
    return (
        f"{len(verdicts)} {claims}: {counts.removeprefix('1 ') if len(verdicts) == 1 else counts}"
    )
