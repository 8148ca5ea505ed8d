import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.running.meaning import meaning, source_meanings

SOURCE = b'''"""A module."""

def f(x: int, *, y=2.5):
    """Adds."""
    text = f"{x} is so"  # a comment
    return x + y, None, text


class A:
    """A class."""
    def g(self): return self
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"""A module."""\n', b""),
        (b'    """Adds."""\n', b'    """Adds two\n    numbers."""\n'),
        (b"  # a comment", b""),
        (b'f"{x} is so"', b'(\n        f"{x} is "\n        "so"\n    )'),
        (b'f"{x} is so"', b"f'{x} is so'"),
        (b'    """A class."""\n', b""),
        (b"x + y", b"(x + y)"),
        (b"\n", b"\r\n"),
    ],
)
def test_what_cannot_move_a_number_does_not_count(old, new):
    assert old in SOURCE
    assert meaning(SOURCE.replace(old, new)) == meaning(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"2.5", b"2.6"),
        (b"x + y", b"y + x"),
        (b"x: int", b"x: float"),
        (b", None", b""),
        (b", None", b", 'None'"),
        (b"is so", b"is  so"),
        (b"    return", b"    if x: return"),
        (b"def g(self)", b"@staticmethod\n    def g(self)"),
    ],
)
def test_all_else_counts(old, new):
    assert old in SOURCE
    assert meaning(SOURCE.replace(old, new)) != meaning(SOURCE)


def test_a_constant_is_known_by_its_type():
    assert len({meaning(f"x = {value}".encode()) for value in ("1", "1.0", "True", "'1'")}) == 4


def test_the_hash_is_the_same_in_every_version_of_python():
    """Records carry it from one version to another."""
    expected = "3c01"
    assert meaning(SOURCE)[:4] == expected


def test_the_files_are_those_that_the_code_imports(toy):
    found = source_meanings("from toypkg.half import half", toy.project.package)
    assert set(found) == {"__init__.py", "half.py", "two.py"}
    (toy.project.package / "two.py").write_text("TWO = = 2")
    with pytest.raises(WorkflowError, match=r"two\.py is not Python"):
        source_meanings("from toypkg.half import half", toy.project.package)
