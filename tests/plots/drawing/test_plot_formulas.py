import functools
import inspect

import pytest
from matplotlib.mathtext import MathTextParser

from ntpcompanion import plots
from ntpcompanion.plots.drawing.narrow import to_svg
from ntpcompanion.plots.drawing.plot_formulas import keep_formulas

NAME = "_parse_cached"


@pytest.fixture
def formulas(monkeypatch):
    """Those that are set from now on; Matplotlib is as it is by itself, until the test says
    otherwise.
    """
    found = []
    by_itself = inspect.unwrap(getattr(MathTextParser, NAME))

    def noted(self, text, *arguments):
        found.append(text)
        return by_itself(self, text, *arguments)

    monkeypatch.setattr(MathTextParser, NAME, functools.lru_cache(50)(noted))
    return found


def drawn():
    """A figure with a logarithmic axis."""
    fig, (panel,) = plots.figure()
    panel.loglog([1e-8, 1], [1, 2], label=r"$\alpha_{ij}^2$")
    panel.legend()
    return to_svg(fig)


def test_a_formula_is_set_once_and_looks_as_it_did(formulas):
    by_itself = drawn()
    assert len(formulas) > len(set(formulas))
    keep_formulas()
    formulas.clear()
    assert drawn() == by_itself
    once = list(formulas)
    assert r"$\alpha_{ij}^2$" in once
    assert drawn() == by_itself
    assert formulas == once


def test_to_ask_twice_changes_nothing(formulas):
    keep_formulas()
    method = getattr(MathTextParser, NAME)
    keep_formulas()
    assert getattr(MathTextParser, NAME) is method


def test_where_matplotlib_has_another_method_nothing_is_changed(formulas, monkeypatch):
    monkeypatch.setattr(MathTextParser, NAME, len)
    keep_formulas()
    assert getattr(MathTextParser, NAME) is len
    monkeypatch.delattr(MathTextParser, NAME)
    keep_formulas()
    assert not hasattr(MathTextParser, NAME)
