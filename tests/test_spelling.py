"""Names that were nearly right."""

import pytest

from ntpcompanion.spelling import nearest


@pytest.mark.parametrize(
    ("name", "hint"),
    [("sead", " Did you mean 'seed'?"), ("dims", " Did you mean 'dim'?"), ("q", ""), ("", "")],
)
def test_the_nearest_name_is_offered_if_it_is_near(name, hint):
    assert nearest(name, iter(["seed", "dim"])) == hint


def test_among_no_names_none_is_near():
    assert nearest("seed", []) == ""
