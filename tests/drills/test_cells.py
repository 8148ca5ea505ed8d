"""A cell that raises, hangs, or takes its kernel down: red, named, and nothing half-written."""

from dataclasses import replace

import pytest

from ntpcompanion.settings import Settings
from tests.drills.machine import LINUX, POSIX

IMPORT = "from toypkg.half import half"
TOO_MUCH_MEMORY = """import resource
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 2**26, now + 2**26))
held = bytearray(2**28)"""


def chapters(toy):
    folder = toy.project.book / "chapters"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


CALL = 'measure("toy.half", half(n) / n, seed=seed)'


FAULTS = {
    "raises": ("half(2)", "half('two')", "code cell 2: TypeError … half('two')"),
    "killed": (
        IMPORT,
        f"{IMPORT}\nimport os; os.kill(os.getpid(), 9)",
        "code cell 2: the kernel died; the machine may be out of memory",
    ),
    "out of memory": (IMPORT, f"{IMPORT}\n{TOO_MUCH_MEMORY}", "code cell 2: MemoryError"),
    "leaves": (
        IMPORT,
        f"{IMPORT}\nimport sys; sys.exit()",
        "code cell 2: SystemExit: the cell ended the notebook",
    ),
    "measures nan": (
        CALL,
        'measure("toy.half", float("nan"))',
        "`value` of 'toy.half' is nan, and no verdict",
    ),
    "measures twice": (
        '"toy.powers"',
        '"toy.half"',
        "measures toy.half more than once. One claim, one number.",
    ),
}
MARKS = {"raises": [], "killed": [POSIX], "out of memory": [LINUX, pytest.mark.slow]}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param(*case, id=name, marks=MARKS.get(name, [pytest.mark.slow]))
        for name, case in FAULTS.items()
    ],
)
def test_a_failing_cell_is_named_and_stops_no_other(toy, old, new, words):
    toy.edit("notebooks/coin.md", old, new)
    output = toy.command("execute", code=1)
    assert "words (book): executed" in output
    assert "coin (book): failed" in output
    assert "error: Notebook 'coin'" in output
    assert all(part in output for part in words.split(" … ")), output
    assert chapters(toy) == ["words.ipynb", "words.json"]
    assert "coin (book): never run" in toy.command("check", "--profile", "book", code=1)


def test_a_failure_keeps_the_last_good_run_but_not_as_fresh(executed):
    toy = executed
    before = (toy.project.book / "chapters" / "coin.ipynb").read_bytes()
    toy.edit("notebooks/coin.md", "half(2)", "half(2) / 0")
    assert "ZeroDivisionError" in toy.command("build", code=1)
    assert (toy.project.book / "chapters" / "coin.ipynb").read_bytes() == before
    assert toy.reasons("coin") == ["code cells: changed"]
    assert not toy.project.html("book").exists(), "a book with a failing notebook is not rendered"


@pytest.mark.slow
def test_a_cell_that_hangs_is_stopped_at_its_limit(toy):
    toy.project = replace(toy.project, settings=Settings(cell_seconds={"book": 4.0}))
    toy.edit("notebooks/coin.md", IMPORT, f"{IMPORT}\nimport time; time.sleep(60)")
    output = toy.command("execute", code=1)
    assert (
        "Notebook 'coin' (book), code cell 2: the cell ran longer than its limit of 4 s" in output
    )
    assert "words (book): executed" in output
    assert chapters(toy) == ["words.ipynb", "words.json"]
