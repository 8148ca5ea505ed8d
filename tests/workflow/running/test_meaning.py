import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.running.meaning import computing_parts, meaning, source_meanings
from ntpcompanion.workflow.running.sources import source_hashes

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
        (b"x: int", b"x: float"),
        (b"def f(", b"def check_f(x):\n    if x: raise ValueError\n\ndef f("),
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
    expected = "2b7c"
    assert meaning(SOURCE)[:4] == expected


def test_the_files_are_those_that_the_code_imports(toy):
    found = source_meanings("from toypkg.half import half", toy.project.package)
    assert set(found) == {"__init__.py", "half.py", "two.py"}
    (toy.project.package / "two.py").write_text("TWO = = 2")
    with pytest.raises(WorkflowError, match=r"two\.py is not Python"):
        source_meanings("from toypkg.half import half", toy.project.package)


def test_a_file_that_gives_nothing_but_checks_and_annotations_is_not_one_of_them(toy):
    """Nor is what that file imports."""
    write = {
        "half.py": "from toypkg.kinds import Kind\nfrom toypkg.checks import check_half\n"
        "def half(x: Kind):\n    check_half('x', x)\n    return x / 2\n",
        "kinds.py": "Kind = float\n",
        "checks.py": "from toypkg.two import TWO\ndef check_half(name, x):\n    x > TWO\n",
    }
    for name, text in write.items():
        (toy.project.package / name).write_text(text)
    code = "from toypkg.half import half"
    assert set(source_meanings(code, toy.project.package)) == {"__init__.py", "half.py"}
    assert set(source_hashes(code, toy.project.package)) == {"__init__.py", "two.py", *write}


FACED = """from ntpcompanion.faces import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__, extra="science")
"""
USER = "from toypkg.room.lamp import lamp\nfrom toypkg.room import wood\nlamp(wood.chair)"


@pytest.fixture
def parts(toy):
    """A function: what computes in a toy room of two modules, for a text of its `__init__.py` and
    one of its stub.
    """
    room = toy.project.package / "room"
    room.mkdir()
    (room / "lamp.py").write_text("def lamp(place):\n    return place\n")
    (room / "wood.py").write_text("chair = 2\n")

    def computing(init, stub=None):
        (room / "__init__.py").write_text(init)
        (room / "__init__.pyi").unlink(missing_ok=True)
        if stub is not None:
            (room / "__init__.pyi").write_text(stub)
        return computing_parts(source_meanings(USER, toy.project.package), "toypkg")

    return computing


def test_a_room_that_is_given_a_face_computes_what_it_did(parts):
    bare = parts('"""A room."""')
    assert set(bare) == {"room/lamp.py", "room/wood.py"}
    home = "from .lamp import lamp as lamp\nfrom . import wood as wood\n"
    assert parts(FACED, home) == bare
    assert parts(f'"""With a docstring."""\n{FACED}', home) == bare


def test_a_name_of_a_face_that_leads_elsewhere_counts(parts):
    bare = parts("")
    moved = parts(FACED, "from .wood import lamp as lamp\nfrom . import wood as wood\n")
    assert moved == {**bare, "room/__init__.pyi: lamp": "wood.lamp"}


@pytest.mark.parametrize(
    "init", [f"{FACED}more = 1\n", FACED.replace("attach_face(", "other("), "more = 1\n"]
)
def test_all_else_in_a_room_counts(parts, init):
    assert parts(init).keys() - parts("").keys() == {"room/__init__.py"}


def test_of_stored_meanings_only_those_that_compute_are_compared():
    stored = {"__init__.py": meaning(b""), "faces.py": "a", "two.py": "b", "empty.py": meaning(b"")}
    kept = {"two.py": "b", "empty.py": meaning(b"")}
    assert computing_parts(stored, "ntpcompanion") == kept
    assert computing_parts(stored, "another") == {**kept, "faces.py": "a"}
