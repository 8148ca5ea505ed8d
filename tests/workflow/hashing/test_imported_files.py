import pytest

from ntpcompanion.workflow.hashing.imported_files import source_hashes
from ntpcompanion.workflow.running.freshness import what_changed
from tests.refusing import refused

LATE = "def f():\n    from . import two\n    from .unrelated import X\n    return two.TWO + X\n"
IMPORTS = {
    "and nothing else": ("from toypkg.half import half\nimport numpy", {}, {"half", "two"}),
    "of a module": ("from toypkg import two", {}, {"two"}),
    "in a function": ("import toypkg.late as late", {"late": LATE}, {"late", "two", "unrelated"}),
    "in a circle": (
        "import toypkg.two",
        {"two": "import toypkg.half\nTWO = 2\n"},
        {"half", "two"},
    ),
    "from above": (
        "import toypkg.deep.deeper.late",
        {
            "deep/__init__": "from .. import unrelated\n",
            "deep/deeper/__init__": "",
            "deep/deeper/late": "from ...half import half\n",
        },
        {"deep/__init__", "deep/deeper/__init__", "deep/deeper/late", "half", "two", "unrelated"},
    ),
}


@pytest.mark.parametrize(("code", "files", "reached"), IMPORTS.values(), ids=IMPORTS)
def test_imports_are_followed(toy, code, files, reached):
    for name, text in files.items():
        (toy.project.package / name).parent.mkdir(parents=True, exist_ok=True)
        (toy.project.package / f"{name}.py").write_text(text)
    expected = {f"{name}.py" for name in {"__init__", *reached}}
    assert source_hashes(code, toy.project.package).keys() == expected
    assert source_hashes("import toypkgs", toy.project.package) == {}


FACE = """from .wood import chair as chair, stool as stool
from .iron import nail as nail
"""


@pytest.fixture
def room(toy):
    """A room with a face in the toy package: two names of one module, one of another."""
    folder = toy.project.package / "room"
    folder.mkdir()
    (folder / "__init__.py").write_text("import lazy_loader\n")
    (folder / "__init__.pyi").write_text(FACE)
    (folder / "wood.py").write_text(
        "from toypkg.room import nail\ndef chair(): return nail\nstool = chair\n"
    )
    (folder / "iron.py").write_text("from toypkg.two import TWO\nnail = TWO\n")
    return folder


USERS = {
    "chair": "from toypkg.room import chair\nchair()",
    "stool": "from toypkg import room as r\nr.stool()",
    "nail": "from toypkg.room import nail\nnail",
    "whole": "from toypkg import room\nprint(vars(room))",
    "neither": "from toypkg.half import half\nhalf(2)",
}


@pytest.fixture
def stale(toy):
    """A function: which of the users have other hashes than when the test began."""

    def hashes():
        return {name: source_hashes(code, toy.project.package) for name, code in USERS.items()}

    before = None

    def changed():
        nonlocal before
        if before is None:
            before = hashes()
        now = hashes()
        return {name for name in now if now[name] != before[name]}

    return changed


@pytest.mark.parametrize(
    ("edited", "users"),
    [
        ("room/wood.py", {"chair", "stool", "whole"}),
        ("room/iron.py", {"chair", "stool", "nail", "whole"}),  # wood uses iron through the face
        ("half.py", {"neither"}),
        ("unrelated.py", set()),
    ],
)
def test_an_edited_module_makes_stale_exactly_those_who_use_its_names(
    toy, room, stale, edited, users
):
    assert stale() == set()
    path = toy.project.package / edited
    path.write_text(path.read_text() + "more = 1\n")
    assert stale() == users


@pytest.mark.parametrize(
    ("face", "users"),
    [
        (FACE + "from .iron import hammer as hammer\n", {"whole"}),
        (FACE.replace("nail as nail", "nail as nail, screw as screw"), {"whole"}),
        ("# a comment\n" + FACE, set()),
        (FACE.replace(", stool as stool", "") + "from .iron import stool\n", {"stool", "whole"}),
        (FACE.replace(".iron", ".wood"), {"chair", "stool", "nail", "whole"}),
    ],
    ids=["a name", "a name of a used module", "a comment", "one name moves", "another moves"],
)
def test_of_a_face_only_the_names_used_count(room, stale, face, users):
    assert stale() == set()
    (room / "__init__.pyi").write_text(face)
    assert stale() == users


def test_a_moved_name_is_said_with_its_old_and_new_place(toy, room):
    before = source_hashes(USERS["nail"], toy.project.package)
    (room / "__init__.pyi").write_text(FACE.replace("from .iron", "from .wood"))
    after = source_hashes(USERS["nail"], toy.project.package)
    lines = what_changed({"package source": before}, {"package source": after})
    assert "package source: room/__init__.pyi: nail: 'iron.nail' → 'wood.nail'" in lines


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("tools.saw", ["tools.py"]),
        ("lamp", ["lamp.py"]),
        ("box.lid", ["inner/__init__.py", "inner/box.py"]),
        ("private.f", ["private.py"]),
        ("nothing", []),
    ],
)
def test_a_public_name_may_be_a_module_or_called_like_its_own_or_lie_deeper(toy, room, name, files):
    (room / "__init__.pyi").write_text(
        "from . import tools as tools\nfrom .lamp import lamp\nfrom .inner.box import box as box\n"
    )
    (room / "inner").mkdir()
    for module in ("tools", "lamp", "private", "inner/__init__", "inner/box"):
        (room / f"{module}.py").write_text("")
    found = source_hashes(f"from toypkg import room\nroom.{name}", toy.project.package)
    assert {each for each in found if ":" not in each} == {
        *("__init__.py", "room/__init__.py"),
        *(f"room/{each}" for each in files),
    }


def test_a_stub_that_is_no_python_is_named(toy, room):
    (room / "__init__.pyi").write_text("from .wood import\n")
    with refused(r"room/__init__\.pyi is not Python.*Fix the file"):
        source_hashes(USERS["chair"], toy.project.package)
