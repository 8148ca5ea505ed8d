import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.hashing.stub_names import Package, read_stub

STUB = """from . import tools as tools
from .wood import chair as chair, table as table
from .lamp import lamp as lamp
from .inner.box import box as box

__all__ = ["tools", "chair", "table", "lamp", "box"]
"""


@pytest.fixture
def house(tmp_path):
    """A package with a room that has a face, and a folder inside without one."""
    room = tmp_path / "house" / "room"
    (room / "inner").mkdir(parents=True)
    for name in ("wood", "lamp", "tools", "private", "inner/__init__", "inner/box", "__init__"):
        (room / f"{name}.py").write_text("")
    (room.parent / "__init__.py").write_text("")
    (room / "__init__.pyi").write_text(STUB)
    return room.parent


def reached(name, package):
    """Files beside those of the packages themselves, and entries of faces."""
    found = list(Package(package).resolve(name))
    files = {p.relative_to(package).as_posix() for p in found if not isinstance(p, tuple)}
    assert "__init__.py" in files
    return files - {"__init__.py", "room/__init__.py"}, {p for p in found if isinstance(p, tuple)}


CHAIR = ("room/__init__.pyi: chair", "wood.chair")


def test_a_name_leads_to_the_module_that_defines_it(house):
    assert reached("house.room.chair", house) == ({"room/wood.py"}, {CHAIR})
    assert reached("house.room.chair.colour", house) == ({"room/wood.py"}, {CHAIR})
    assert reached("house.room.box", house) == (
        {"room/inner/__init__.py", "room/inner/box.py"},
        {("room/__init__.pyi: box", "inner.box.box")},
    )


def test_modules_are_reached_without_the_face(house):
    assert reached("house.room.private.f", house) == ({"room/private.py"}, set())
    assert reached("house.room.wood", house) == ({"room/wood.py"}, set())
    assert reached("house.room", house) == (set(), set())
    assert reached("house.room.nothing", house) == (set(), set())


def test_a_function_may_have_the_name_of_its_module(house):
    files, entries = reached("house.room.lamp", house)
    assert (files, entries) == ({"room/lamp.py"}, {("room/__init__.pyi: lamp", "lamp.lamp")})


def test_a_face_may_show_a_module(house):
    assert reached("house.room.tools.saw", house) == (
        {"room/tools.py"},
        {("room/__init__.pyi: tools", "tools")},
    )


def test_the_whole_face_is_every_name_of_it(house):
    files, entries = reached("house.room.*", house)
    modules = ("wood", "lamp", "tools", "inner/__init__", "inner/box")
    assert files == {f"room/{name}.py" for name in modules}
    assert {name.split()[1] for name, _ in entries} == set(read_stub(house / "room"))


def test_a_package_without_a_stub_has_no_face(house):
    assert read_stub(house) == {}
    assert reached("house.*", house) == (set(), set())


def test_a_stub_that_is_no_python_is_named(house):
    (house / "room" / "__init__.pyi").write_text("from .wood import\n")
    with pytest.raises(WorkflowError, match=r"room/__init__\.pyi is not Python.*Fix the file"):
        reached("house.room.chair", house)
