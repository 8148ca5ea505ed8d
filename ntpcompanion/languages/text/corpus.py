"""Sources of real text: a UTF-8 file of the reader's own, or a text that ships with Python."""

import hashlib
import importlib
import platform
from dataclasses import dataclass
from pathlib import Path

from ntpcompanion.checks import checked
from ntpcompanion.languages.text.decoding import decode_text
from ntpcompanion.validation import require


@dataclass(frozen=True)
class Text:
    """A text and where it came from.

    Fields
    ------
    source
        the path or module name it was asked for by.
    content
        the text itself.
    version
        of the software it ships with ("Python 3.11.7"); empty for a file.
    """

    source: str
    content: str
    version: str = ""

    @property
    def sha256(self) -> str:
        """Hash of the content in UTF-8, which says which text a number belongs to. That of a file
        with a byte order mark or other line ends is another one.
        """
        return hashlib.sha256(self.content.encode()).hexdigest()


@checked
def read_text(text: str) -> Text:
    """The text that the parameter `text` of a notebook names.

    Parameters
    ----------
    text
        path of a UTF-8 file (`~` allowed), or the dotted name of a module with a dictionary
        `topics` of texts, such as "pydoc_data.topics", the reference manual in Python's standard
        library. The topics are joined in the order of their keys. A module is imported, which runs
        it, and a file wins over one of the same name.

    Returns
    -------
    Text
        its content, with the source and its version, for the provenance.

    Raises
    ------
    FileNotFoundError
        neither a file nor such a module.
    ValueError
        the file is not UTF-8 or no text, or there is nothing but white space in it.

    Examples
    --------
    >>> from ntpcompanion.languages import read_text
    >>> manual = read_text("pydoc_data.topics")
    >>> manual.source, len(manual.content) > 100_000
    ('pydoc_data.topics', True)
    """
    path = Path(text).expanduser()
    if text and path.is_dir():
        raise FileNotFoundError(f"`text` = {text!r} is a folder. Give the path of a file in it.")
    loaded = (
        Text(text, decode_text(path.read_bytes(), text))
        if path.is_file()
        else Text(text, _read_module(text), f"Python {platform.python_version()}")
    )
    require(loaded.content.strip(), f"`text` = {text!r} is empty. Give a text with words in it.")
    return loaded


def _read_module(name: str) -> str:
    complaint = (
        f"`text` = {name!r} is neither a file nor a Python module with a dictionary `topics` of "
        "texts. Give the path of a UTF-8 text."
    )
    if not all(part.isidentifier() for part in name.split(".")):
        raise FileNotFoundError(complaint)
    try:
        topics = importlib.import_module(name).topics
        return "\n\n".join(topics[key] for key in sorted(topics))
    except (ImportError, AttributeError, TypeError) as error:
        raise FileNotFoundError(complaint) from error
