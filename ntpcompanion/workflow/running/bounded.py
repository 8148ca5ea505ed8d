"""papermill's engine with a bound on what is kept of a cell: of twenty thousand printed lines no
reader looks at more than a few, and to store and check them takes a minute.
"""

from typing import Any

import nbformat
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.notebooks.cells import code_cells, is_injected

NAME = "ntpcompanion"
NOTES = "ntp-left-out"
ALWAYS = {MEASUREMENT_MIME, RECORD_MIME}
LINES, CHARACTERS, OUTPUTS = 1000, 200_000, 200  # of a stream of a cell; of a cell


class BoundedClient(PapermillNotebookClient):  # type: ignore[misc]  # papermill has no types
    """Keeps of each cell the first lines of its streams, its first outputs, and all measurements,
    records and errors. Cells that showed more are named in the metadata of the notebook, under
    `NOTES`.
    """

    def __init__(self, manager: Any, **settings: Any) -> None:
        super().__init__(manager, **settings)
        self._is_cut = False

    def output(
        self, outs: list[Any], msg: dict[str, Any], display_id: str | None, cell_index: int
    ) -> Any:
        """Add an output to those of a cell, unless it holds its share."""
        content = msg["content"]
        if msg["msg_type"] == "stream":
            first = _first_lines(outs, content["name"], content["text"])
            self._is_cut |= first != content["text"]
            content["text"] = first
            if not first:
                return None
        elif msg["msg_type"] != "error" and not ALWAYS & set(content.get("data", {})):
            if sum(out.output_type != "stream" for out in outs) >= OUTPUTS:
                self._is_cut = True
                return None
        return super().output(outs, msg, display_id, cell_index)

    def clear_output(self, outs: list[Any], msg: dict[str, Any], cell_index: int) -> None:
        """What a cell clears does not count."""
        self._is_cut = False
        super().clear_output(outs, msg, cell_index)

    def execute_cell(self, cell: Any, cell_index: int, **settings: Any) -> Any:
        """Execute a cell, and say below its outputs whether there were more."""
        self._is_cut = False
        try:
            return super().execute_cell(cell, cell_index, **settings)
        finally:
            if self._is_cut:
                text = "\n… and more, which are not kept.\n"
                cell.outputs.append(nbformat.v4.new_output("stream", name="stdout", text=text))
                cells = code_cells(self.nb)[: 1 + code_cells(self.nb).index(cell)]
                number = sum(not is_injected(each) for each in cells)
                self.nb.metadata.setdefault(NOTES, []).append(
                    f"code cell {number} showed more than {LINES} lines or {OUTPUTS} outputs: the "
                    "rest is not kept. Print a summary."
                )


def _first_lines(outs: list[Any], name: str, text: str) -> str:
    """What of a text fits into the stream of that name below the others."""
    shown = [out.text for out in outs if out.output_type == "stream" and out.name == name]
    characters = CHARACTERS - sum(map(len, shown))
    lines = LINES - sum(each.count("\n") for each in shown)
    return "".join(text[: max(characters, 0)].splitlines(keepends=True)[: max(lines, 0)])


class BoundedEngine(NBClientEngine):  # type: ignore[misc]  # papermill has no types
    """Executes a notebook with a `BoundedClient`."""

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: Any,
        kernel_name: str,
        *,
        execution_timeout: float | None = None,
        **settings: Any,
    ) -> Any:
        """Execute the cells that papermill manages."""
        hooks = {name: settings.get(name) for name in ("on_cell_start", "on_cell_executed")}
        hooks |= {"config": settings.get("config"), "timeout": execution_timeout}
        return BoundedClient(nb_man, kernel_name=kernel_name, **hooks).execute()


def register() -> None:
    """From now on papermill knows the engine."""
    papermill_engines.register(NAME, BoundedEngine)
