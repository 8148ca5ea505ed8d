"""The files of JupyterLab, as `ntpcompanion lab` starts it. Needs the extra `lab`."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from jupytext import TextFileContentsManager

from ntpcompanion.workflow.notebooks.saving import keep_lines


class TextNotebooks(TextFileContentsManager):  # type: ignore[misc]  # jupytext has no types
    """jupytext's contents manager, which opens text notebooks as notebooks; saving one changes the
    lines of cells that were changed, and no others.

    Outputs, execution counts and ids of cells are not stored: a text notebook has none.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # where no configuration of jupytext is found, it would drop the entry from the front matter
        self.notebook_metadata_filter = "ntp"

    def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        """Save a file; the model of what was saved, without its content."""
        before = _text(file := Path(self._get_os_path(path)))
        saved: dict[str, Any] = super().save(model, path)
        if model["type"] != "notebook" or file.suffix != ".md" or before is None:
            return saved
        # jupytext's own text stands in the file for a moment: a kill then costs layout, no cell
        if (after := _text(file)) is not None and (kept := keep_lines(before, after)) != after:
            text = {"type": "file", "format": "text", "content": kept}
            # the date that JupyterLab compares with at its next save
            saved |= {"last_modified": super().save(text, path)["last_modified"]}
        return saved


def _text(file: Path) -> str | None:
    """The text of a file, None for one that is new or is no text in UTF-8."""
    with suppress(OSError, ValueError):
        return file.read_bytes().decode()
    return None
