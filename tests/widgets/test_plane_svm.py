"""The next-token SVM in the plane, solved in the browser: against the solvers of the package."""

import numpy as np
import pytest

from ntpcompanion import plots
from ntpcompanion.linear import ContextTable, Verdict, check_separability, solve_ntp_svm
from ntpcompanion.linear.separability.certificates import check_certificate, check_weights
from ntpcompanion.linear.svm.planar_examples import SUPPORTS
from tests.widgets.shown import state

ANGLES = [17.25, 140.5, 250.0]
SUPPORT = [[int(word in support) for word in range(1, 6)] for support in SUPPORTS]


@pytest.fixture
def widget():
    fig, (ax,) = plots.figure()
    plots.draw_plane(ax, np.eye(2), np.eye(2))
    data = {"angles": ANGLES, "support": SUPPORT}
    return plots.widget("plane_svm", data, picture=fig, alt="Contexts and words in the plane.")


def table_of(angles, support):
    turned, support = np.radians(angles), np.array(support)
    embeddings = np.stack([np.cos(turned), np.sin(turned)], axis=1)
    distributions = support / support.sum(axis=1, keepdims=True)
    return ContextTable(embeddings, distributions, np.full(3, 1 / 3))


def settings(rng):
    """Angles in whole degrees and supports: also equal and opposite contexts, equal supports, and
    the supports of the figure at every other draw, which are often separable.
    """
    for draw in range(72):
        angles, support = rng.integers(0, 360, 3), np.array(SUPPORT)
        if draw % 2:
            support = 1 * (rng.random((3, 5)) < rng.choice([0.25, 0.5, 0.75]))
            support[:, draw % 5] = 0  # not all words can follow all contexts
            support[range(3), (rng.integers(0, 4, 3) + draw + 1) % 5] = 1
        if draw % 6 == 1:
            angles[1] = (angles[0] + rng.choice([0, 180])) % 360
        if draw % 10 == 3:
            support[2] = support[0]
        yield angles.tolist(), support.tolist()


def test_solutions_and_certificates_are_those_of_the_package(widget, opened, rng):
    cases = list(settings(rng))
    with opened(widget) as page:
        solve = "cases => cases.map(([angles, support]) => ntpPlaneSVM.solve(angles, support))"
        answers = page.evaluate(solve, cases)
    counts = dict.fromkeys(Verdict, 0)
    for (angles, support), answer in zip(cases, answers, strict=True):
        table = table_of(angles, support)
        verdict = check_separability(table).verdict
        counts[verdict] += 1
        assert answer["separable"] == (verdict is Verdict.SEPARABLE), (angles, support)
        if answer["separable"]:
            weights = np.array(answer["weights"], dtype=float)
            assert check_weights(table, weights).holds
            best = solve_ntp_svm(table, tol=1e-13).weights
            np.testing.assert_allclose(weights, best, atol=1e-6 * max(1, np.abs(best).max()))
            assert answer["norm"] == pytest.approx(np.linalg.norm(best), rel=1e-6)
            np.testing.assert_allclose(answer["logits"], table.embeddings @ weights.T, atol=1e-9)
        else:
            gamma = np.array(answer["certificate"], dtype=float)
            assert check_certificate(table, gamma).holds
            assert gamma[np.array(support) == 0].sum() == pytest.approx(-1)
    assert counts[Verdict.UNDECIDED] == 0
    assert min(counts[Verdict.SEPARABLE], counts[Verdict.NOT_SEPARABLE]) >= 18


def matches(page):
    now = state(page)
    solved = solve_ntp_svm(table_of(now["angles"], now["support"]), tol=1e-13)
    assert now["separable"] == (solved.verdict is Verdict.SEPARABLE)
    if now["separable"]:
        np.testing.assert_allclose(now["weights"], solved.weights, atol=1e-6 * now["norm"])
    return now


def test_contexts_turn_by_keys_and_by_the_pointer(widget, opened):
    with opened(widget) as page:
        assert matches(page)["angles"] == ANGLES
        knob = page.get_by_role("slider", name="direction of context 1")
        knob.focus()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Shift+ArrowLeft")
        page.keyboard.press("PageDown")
        assert matches(page)["angles"] == [348, *ANGLES[1:]]
        assert knob.get_attribute("aria-valuetext") == "348 degrees"
        plane = page.get_by_role("group", name="Word vectors").bounding_box()
        middle = plane["x"] + plane["width"] / 2, plane["y"] + plane["height"] / 2
        held = page.get_by_role("slider", name="direction of context 2").bounding_box()
        page.mouse.move(held["x"] + held["width"] / 2, held["y"] + held["height"] / 2)
        page.mouse.down()
        page.mouse.move(middle[0], middle[1] - 60)
        page.mouse.up()
        assert matches(page)["angles"] == [348, 90, ANGLES[2]]
        assert page.get_by_label("Lines of equal margin of").input_value() == "1"


def test_supports_change_by_a_click_and_are_never_empty(widget, opened):
    with opened(widget) as page:
        said = page.locator(".ntp-says")
        assert "Words 1 and 5 have the same vector" in said.text_content()
        for name in ("word 1 can follow context 1", "word 5 can follow context 2"):
            page.get_by_role("button", name=name).press("Enter")
        now = matches(page)
        assert now["support"] == [[1, 1, 1, 1, 0], [1, 1, 0, 0, 0], [1, 0, 0, 1, 1]]
        for word in (1, 2):
            page.get_by_role("button", name=f"word {word} can follow context 2").click()
        assert state(page)["support"][1] == [0, 1, 0, 0, 0]
        assert said.text_content() == "Context 2 needs at least one word that can follow it."
        page.get_by_role("button", name="Reset").click()
        assert (state(page)["angles"], state(page)["support"]) == (ANGLES, SUPPORT)


@pytest.mark.parametrize("width", [320, 1280])
def test_the_certificate_is_shown_in_words_numbers_and_arrows(widget, opened, width):
    with opened(widget, width=width) as page:
        loops = page.get_by_role("group", name="Weighted contexts of each word")
        assert loops.count() == 0
        page.get_by_role("button", name="word 1 can follow context 1").click()
        now = matches(page)
        assert page.locator(".ntp-says").text_content().startswith("Not separable")
        assert page.get_by_role(
            "button", name="word 5 can follow context 1, weight −1"
        ).is_visible()
        assert loops.locator(".head").count() == np.count_nonzero(now["certificate"])
