"""mypy: the annotations of the package say what the code does. What is checked where stands in
pyproject.toml.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IGNORED = re.compile(r"#\s*type:\s*ignore(?P<rest>.*)")


def test_mypy_has_nothing_to_say():
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    checked = int(re.search(r"no issues found in (\d+) source files", done.stdout)[1])
    own = [path for path in (ROOT / "ntpcompanion").rglob("*.py") if "template" not in path.parts]
    assert checked == len(own)


def test_every_room_is_checked_strictly(tmp_path):
    """A function without annotations is rejected there."""
    rooms = ("workflow/base", "experiments", "linear", "networks", "plots")
    modules = []
    for room in rooms:
        package = tmp_path / "ntpcompanion" / room
        package.mkdir(parents=True)
        for folder in (package, *package.relative_to(tmp_path).parents):
            (tmp_path / folder / "__init__.py").touch()
        (package / "planted.py").write_text("def f(x):\n    return x\n")
        modules += ["-m", ".".join(("ntpcompanion", *room.split("/"), "planted"))]
    configuration = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *configuration, *modules],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    for room in rooms:
        rejected = f"{room}/planted.py:1: error: Function is missing a type annotation"
        assert rejected in done.stdout, done.stdout


def test_what_is_ignored_has_a_code_and_a_reason():
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in (ROOT / "ntpcompanion").rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (found := IGNORED.search(line))
        if not re.match(r"\[[a-z, -]+\]\s+# \w", found["rest"])
    ]
    assert lines == []
