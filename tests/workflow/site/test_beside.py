"""A run beside the book's: parameters that differ, numbers that moved."""

import dataclasses

import pytest

from ntpcompanion.workflow.chapters.templating import render
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.site.beside import Beside, moved


@pytest.fixture
def claims(toy):
    return load_claims(toy.project)


@pytest.fixture
def ran(instant):
    """The book's result, and a function: that of a run that differs from it."""
    instant.execute(names=["coin"])
    book = Result.load(instant.runs(names=["coin"])[0].results)
    return book, lambda **changes: dataclasses.replace(book, **changes)


def measured(value, **given):
    return Measurement.of("toy.half", value, **given)


def test_exact_numbers_move_by_bands_and_random_ones_by_standard_errors(claims):
    claim = claims["toy.half"]  # its band is one percent
    assert str(moved(claim, measured(0.5), measured(0.5))) == "equal"
    assert str(moved(claim, measured(0.51), measured(0.5))) == "2 bands"
    assert str(moved(claim, measured(0.505), measured(0.5))) == "1 band"
    one, other = (measured(v, stderr=e, replicates=9) for v, e in ((1.0, 0.3), (2.0, 0.4)))
    assert str(moved(claim, one, other)) == "2 standard errors"
    assert str(moved(claim, one, measured(0.4))) == "2 standard errors"
    several = measured([1.0, 2.0]), measured([1.0, 1.0])
    assert moved(claim, *several).by == pytest.approx(100), "the largest"


def test_what_cannot_be_compared_says_why(claims):
    claim = claims["toy.powers"]  # has no band
    assert str(moved(claim, measured(0.75), measured(0.5))) == "0.25 units"
    assert str(moved(claim, measured(0.5), None)) == "not in the book's run"
    assert str(moved(claim, measured([1, 2]), measured(1))) == "2 values, the book has 1"


def test_a_run_with_other_parameters_says_so_and_which(ran, claims):
    book, other = ran
    here = other(parameters={"n": 10, "seed": 0}, overrides={"n": 10})
    beside = Beside(here, book, [], claims)
    assert (beside.title, beside.is_books) == ("This is not the book's run", False)
    assert beside.differing == {"n": (10, 1000)}
    assert Beside(here, None, [], claims).differing == {"n": (10, 1000)}
    smoke = Beside(other(profile="smoke"), book, [], claims)
    assert smoke.title == "This is not the book's run, but one with the profile smoke"
    same = Beside(book, book, ["It is old."], claims)
    assert same.title == "This is the run that the book shows"
    assert ":class: note\n\nIt is old.\n" in render("beside.md", same)
    assert "not the book's run" in Beside(book, None, ["None yet."], claims).title


def test_claims_stand_beside_the_books_with_the_verdict_here(ran, claims):
    book, other = ran
    here = other(measurements=[measured(0.75), *book.measurements[1:]])
    half, powers = Beside(here, book, [], claims).rows
    assert (half[0].verdict, half[1].verdict, str(half[2])) == ("refuted", "supported", "50 bands")
    assert powers[0].claim.id == "toy.powers"
    text = render("beside.md", Beside(here, book, [], claims))
    assert "<td>0.75</td><td>0.5</td><td>50 bands</td>" in text
    assert "(in the book: supported)" in text
    assert "in the book: supported" not in render("beside.md", Beside(book, book, [], claims))
    assert str(Beside(book, None, [], claims).rows[0][2]) == "not in the book's run"
    assert Beside(other(measurements=[]), book, [], claims).rows == []
