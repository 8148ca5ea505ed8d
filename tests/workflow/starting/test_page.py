"""The page that walks through a book of one's own: its commands are typed as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ntpcompanion.settings import Settings
from tests.toy import ROOT

PAGE = (ROOT / "book" / "own_companion.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.S) for line in block.splitlines()
]


def test_it_documents_every_setting():
    table = PAGE.partition("## Settings")[2]
    named = set(re.findall(r"`(\w+)`(?=[^|]*\| )", "\n".join(re.findall(r"^\| `.*", table, re.M))))
    assert named >= set(vars(Settings()))


@pytest.mark.slow
def test_its_commands_do_what_it_says(tmp_path):
    script = "\n".join(
        ["set -eu", f'ntpcompanion() {{ "{sys.executable}" -m ntpcompanion "$@"; }}', *COMMANDS]
    )
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 0, said
    made = tmp_path / "my companion"
    for path in (
        "_build/html/index.html",
        "_build/html/chapters/mean.html",
        "book/records/spread.json",
        "mycoins/mean.py",
    ):
        assert (made / path).is_file(), path
    assert "1 measured value agrees with book.json" in said
    assert "mean (book) is up to date" in said
    assert Path(re.search(r"mean: (\S.*?\.ipynb)", said)[1]).is_relative_to(
        made / "_build" / "runs"
    )
