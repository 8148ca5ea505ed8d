"""The figure of the inequalities of the bracket lemma: every term at every choice against the
package, and what a reader does with it.
"""

import numpy as np
import pytest
from playwright.sync_api import expect

from ntpcompanion.dyck import (
    Parameters,
    bound,
    squared_loss,
)
from ntpcompanion.dyck.sentences import MASK_SIGNS
from ntpcompanion.experiments.flatness.bound_terms import choices
from tests.widgets.shown import narrow, shown_widget, state

SCALES = [0.25, 2**-1.5, 1.0, 3.0]


@pytest.fixture(scope="module")
def staircase():
    return shown_widget("dyck", "staircase")


@pytest.fixture(scope="module")
def solved():
    """All that is offered, by length, mask sign and name."""
    return {
        (T, sign, name): choice
        for T in (4, 6)
        for sign in MASK_SIGNS
        for name, choice in choices(T, sign, seed=0).items()
    }


@pytest.fixture
def levels(staircase, opened):
    """Terms of every solution at every scale, by length, mask sign and name."""
    with opened(staircase) as page:
        found = page.evaluate(
            "([rows, scales]) => rows.map(row => "
            "scales.map(scale => ntpWidgets.staircase.chain(row, scale)))",
            [staircase.data["rows"], SCALES],
        )
    keys = [(row["length"], row["mask"], row["name"]) for row in staircase.data["rows"]]
    return dict(zip(keys, found, strict=True))


def test_every_choice_has_the_terms_of_the_package(solved, levels):
    assert len(solved) == len(levels) == 2 * 2 * 11
    for key, (_, theta, masked, _, active, _) in solved.items():
        for scale, found in zip(SCALES, levels[key], strict=True):
            scaled = Parameters(theta.W_Q, theta.W_K, scale * theta.W_V, theta.u / scale)
            chain = bound.chain(scaled, masked, active)
            ours = chain.squared_gradient, chain.value_layer, chain.per_neuron
            ours = [term / chain.bound for term in (*ours, chain.no_cancellation, chain.bound)]
            assert found[1:] == pytest.approx(ours, rel=1e-9)


def test_second_differences_count_kinks_at_every_scale(solved, levels):
    key, step = (4, "random", "split_by_bracket"), 1e-4
    _, theta, masked, wanted, *_ = solved[key]
    sizes = theta.W_V.shape, theta.u.shape
    for scale, terms in zip(SCALES, levels[key], strict=True):
        start = np.r_[scale * theta.W_V.ravel(), theta.u / scale]
        total = 0.0
        for move in (*step * np.eye(len(start)), *-step * np.eye(len(start))):
            rows, heads = np.split(start + move, [theta.W_V.size])
            moved = Parameters(theta.W_Q, theta.W_K, rows.reshape(sizes[0]), heads)
            total += squared_loss(moved, masked, wanted)
        # half of the second differences, and the bound is 1 at T = 4
        assert total / step**2 / 2 == pytest.approx(terms[0], rel=1e-3)


def test_a_reader_chooses_by_keyboard(staircase, opened):
    with opened(staircase) as page:
        said, cells = page.locator(".ntp-says"), page.locator(".ntp-steps td:last-child")
        expect(said).to_contain_text("Attains the bound only if a kink counts as 0")
        expect(said).to_contain_text("Does not transfer")
        expect(cells).to_have_text(["loses a factor of 1.25", *["equality"] * 4])
        page.get_by_role("combobox", name="solution").select_option(label="counting")
        expect(said).to_contain_text("a flattest solution")
        expect(said).to_contain_text("Transfers")
        expect(cells).to_have_text(["equality"] * 5)
        page.get_by_role("slider", name="scale of w").press("End")
        expect(cells.nth(2)).to_have_text("loses a factor of 8.031")
        expect(cells.filter(has_text="equality")).to_have_count(4)
        page.get_by_role("combobox", name="solution").select_option(label="B: three neurons")
        expect(said).to_contain_text("No solution with this mask sign: the loss is")
        page.get_by_label("sign of the mask").select_option("fixed")
        page.get_by_label("length").select_option("6")
        page.get_by_role("slider", name="scale of w").press("Home")
        assert state(page)["transfers"] is False
        assert state(page)["levels"][1] == pytest.approx((16 + 1 / 16) / 2, rel=1e-9)
        page.get_by_role("button", name="Reset").press("Enter")
        assert state(page)["name"] == "split_by_bracket"
        narrow(page)
