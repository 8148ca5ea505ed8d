"""The files of JupyterLab, as `ntpcompanion lab` starts it. Needs the extra `lab`."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from jupytext import TextFileContentsManager
from jupytext.config import notebook_formats
from tornado.web import HTTPError

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.texts import MARK, require_plain_lines
from ntpcompanion.workflow.notebooks.losses import require_whole
from ntpcompanion.workflow.notebooks.saving import FORMAT, keep_lines


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

    def get(
        self, path: str, content: bool = True, type: str | None = None, *args: Any, **kwargs: Any
    ) -> dict[str, Any]:
        """The model of a file or folder. A text that jupytext would cut in other places than MyST
        opens in an editor of texts only.
        """
        file = Path(self._get_os_path(path))
        if content and type in (None, "notebook") and file.suffix == ".md":
            with _sentences():
                require_plain_lines(_text(file) or "", path)
        model: dict[str, Any] = super().get(path, content, type, *args, **kwargs)
        return model

    def _read_file(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """What a file holds; before a byte order mark, jupytext would see no front matter."""
        content, *rest = super()._read_file(*args, **kwargs)
        return (content.removeprefix(MARK) if isinstance(content, str) else content, *rest)

    def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        """Save a file; the model of what was saved, without its content."""
        before = _text(file := Path(self._get_os_path(path)))
        if model["type"] != "notebook" or file.suffix != ".md":
            saved: dict[str, Any] = super().save(model, path)
            return saved
        with _sentences():
            self._require_whole(nbformat.from_dict(model["content"]), path)
            if before is not None:
                require_plain_lines(before, f"{path}, as it is stored")
        saved = super().save(model, path)
        # jupytext's own text stands in the file for a moment: a kill then costs layout, no cell
        if (
            before is not None
            and (after := _text(file)) is not None
            and (merged := keep_lines(before, after)) != after
        ):
            text = {"type": "file", "format": "text", "content": merged}
            # the date that JupyterLab compares with at its next save
            saved |= {"last_modified": super().save(text, path)["last_modified"]}
        return saved

    def _require_whole(self, node: Any, path: str) -> None:
        config = self.get_config(path)
        formats = notebook_formats(node, config, path)
        fmt = next((each for each in formats if each["extension"] == ".md"), FORMAT)
        require_whole(
            node,
            lambda node: str(jupytext.writes(node, fmt=fmt, config=config)),
            lambda text: jupytext.reads(text, fmt=fmt, config=config),
            path,
        )


@contextmanager
def _sentences() -> Iterator[None]:
    """JupyterLab shows the message of an HTTP error to its user."""
    try:
        yield
    except WorkflowError as error:
        raise HTTPError(400, str(error)) from error


def _text(file: Path) -> str | None:
    """The text of a file, None for one that is new or is not text in UTF-8."""
    with suppress(OSError, ValueError):
        return file.read_bytes().decode()
    return None
