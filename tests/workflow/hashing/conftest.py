import textwrap

import pytest

from ntpcompanion.workflow.hashing.definitions import definition_hashes
from tests.workflow.hashing.tiny_package import FILES


@pytest.fixture
def book(tmp_path):
    """A function: what the experiment rests on, for files that differ from those above."""

    def hashes(**changes):
        folder = tmp_path / "pkg"
        for path in [*folder.rglob("*.*")]:
            path.unlink()
        for name, text in (FILES | changes).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is not None:
                path.write_text(textwrap.dedent(text))
        return definition_hashes("pkg.experiment", ["Plan", "Result", "run"], folder)

    return hashes
