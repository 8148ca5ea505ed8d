"""The files of JupyterLab, as `ntpcompanion lab` starts it. Needs the extra `lab`."""

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from jupytext import TextFileContentsManager
from jupytext.config import notebook_formats
from tornado.web import HTTPError

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.texts import MARK
from ntpcompanion.workflow.notebooks.saving import FORMAT, keep_lines, require_whole


class TextNotebooks(TextFileContentsManager):  # type: ignore[misc]  # jupytext has no types
    """jupytext's contents manager, which opens text notebooks as notebooks; saving one changes the
    lines of cells that were changed, and no others.

    Outputs, execution counts and ids of cells are not stored: a text notebook has none. What else
    it cannot hold is an error of the save, which then leaves the file as it was.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # where no configuration of jupytext is found, it would drop the entry from the front matter
        self.notebook_metadata_filter = "ntp"

    def _read_file(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """What a file holds; before a byte order mark, jupytext would see no front matter."""
        content, *rest = super()._read_file(*args, **kwargs)
        return (content.removeprefix(MARK) if isinstance(content, str) else content, *rest)

    def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        """Save a file; the model of what was saved, without its content. Raises HTTPError for cells
        that a text notebook cannot hold.
        """
        file = Path(self._get_os_path(path))
        saved: dict[str, Any]
        if model["type"] != "notebook" or file.suffix != ".md":
            saved = super().save(model, path)
            return saved
        node, config = nbformat.from_dict(model["content"]), self.get_config(path)
        formats = notebook_formats(node, config, path)
        fmt = next((each for each in formats if each["extension"] == ".md"), FORMAT)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what jupytext leaves out is an error below
                text = str(jupytext.writes(node, fmt=fmt, config=config))
            require_whole(node, text, path)
            with suppress(OSError, UnicodeDecodeError):  # a new file, or no text in UTF-8
                text = keep_lines(file.read_bytes().decode(), text)
        except WorkflowError as error:  # JupyterLab shows the message of an HTTP error to its user
            raise HTTPError(400, str(error)) from error
        # the date is what JupyterLab compares with at its next save
        saved = super().save({"type": "file", "format": "text", "content": text}, path)
        return saved | {"type": "notebook", "mimetype": None}
