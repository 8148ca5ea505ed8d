import pytest

from ntpcompanion.workflow.hashing.used_names import names_used


@pytest.mark.parametrize(
    ("code", "used"),
    [
        ("from house.room import chair\nchair", {"house.room.chair", "house.room.chair.*"}),
        ("from house.room import chair\nchair()", {"house.room.chair", "house.room.chair.*"}),
        ("from house import room\nroom.chair(1)[2].x", {"house.room", "house.room.chair"}),
        ("from house import room as r\nr.bed.leg", {"house.room", "house.room.bed.leg"}),
        ("import house.room as r\nr.bed", {"house.room", "house.room.bed"}),
        ("import house.room\nhouse.hall.lamp", {"house.room", "house.hall.lamp"}),
        ("def f():\n    from house import room\n    room.bed", {"house.room", "house.room.bed"}),
    ],
)  # fmt: skip
def test_names_and_what_is_reached_through_them(code, used):
    assert names_used(code) == used


@pytest.mark.parametrize(
    "code",
    [
        "from house import room\ngetattr(room, name)",
        "from house import room\nroom.bed\nprint(room)",
        "from house import room",
        "from house import room as other",
        "import house.room",
        "from house.room import *",
    ],
)
def test_what_is_handed_on_as_a_whole_or_not_used_here_may_be_used_whole(code):
    assert "house.room.*" in names_used(code)


def test_relative_imports_start_from_the_package():
    assert names_used("from . import two\ntwo.TWO", "house.room") == {
        "house.room.two",
        "house.room.two.TWO",
    }
    assert "house.hall.lamp" in names_used("from ..hall import lamp", "house.room")


def test_no_python_is_refused_as_python_does():
    with pytest.raises(SyntaxError):
        names_used("from house import")
