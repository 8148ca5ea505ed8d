"""The front matter of a MyST text: the YAML between two lines of dashes at its start."""

from pathlib import Path

from ntpcompanion.workflow.base.texts import MARK
from ntpcompanion.workflow.base.yaml_files import parse_yaml


def read_front_matter(text: str, path: Path) -> dict[str, object]:
    """The entries of the front matter, none where a text has none.

    It is read strictly: of two entries of one name, a plain reader drops the first without a word.
    Raises WorkflowError naming `path`.
    """
    lines = text.removeprefix(MARK).split("\n")
    if not lines or not lines[0].startswith("---"):
        return {}
    end = next(
        (i for i, line in enumerate(lines[1:], 1) if line.startswith(("---", "..."))), len(lines)
    )
    entries = parse_yaml("\n".join(lines[1:end]), f"{path}, front matter")
    return entries if isinstance(entries, dict) else {}
