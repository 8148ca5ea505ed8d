"""The predicted probability of separability, convolved in the browser: against the package."""

import numpy as np
import pytest

from ntpcompanion import plots
from ntpcompanion.linear import predicted_threshold
from ntpcompanion.linear.thresholds.kinematic import face_probabilities, separable_probability
from tests.widgets.shown import state

LARGEST = 12
SAMPLE = {
    "V": 10, "S": 1, "m": 40, "draws": 100, "crossing": 0.25, "stderr": 0.004, "first": 8,
    "share": [0.0, 0.25, 1.0], "lowest": [0.0, 0.2, 0.98], "highest": [0.01, 0.3, 1.0],
}  # fmt: skip


@pytest.fixture(scope="module")
def faces():
    sizes = range(2, LARGEST + 1)
    return [[face_probabilities(V, S).round(12) for S in range(1, V)] for V in sizes]


@pytest.fixture
def widget(faces):
    start = {"V": 10, "S": 1, "m": 40}
    data = {"faces": faces, "contexts": [5, 40, 320], "measured": [SAMPLE], "start": start}
    fig, _ = plots.figure()
    return plots.widget("thresholds", data, picture=fig, alt="Steps.")


def test_the_curve_is_that_of_the_package(widget, opened, faces):
    sizes = [(2, 1, 7), (3, 2, 40), (7, 3, 31), (10, 1, 320), (10, 8, 160), (12, 11, 5)]
    with opened(widget) as page:
        for V, S, m in sizes:
            row = faces[V - 2][S - 1].tolist()
            curve = page.evaluate("sizes => ntpThresholds.probability(...sizes)", [row, V, m])
            np.testing.assert_allclose(curve, separable_probability(V, S, m), atol=1e-8)


def test_the_threshold_is_the_predicted_one_for_every_size(widget, opened):
    with opened(widget) as page:
        for V, S in [(4, 3), (12, 5), (10, 4)]:
            page.get_by_role("slider", name="vocabulary V").fill(str(V))
            page.get_by_role("slider", name="support size S").fill(str(S))
            now = state(page)
            assert (now["V"], now["S"], now["m"]) == (V, S, 40)
            assert now["threshold"] == pytest.approx(predicted_threshold(V, S), abs=1e-9)
            curve = separable_probability(V, S, 40)
            np.testing.assert_allclose(now["probability"], curve, atol=1e-8)
            assert np.interp(now["half"], range(1, 41), curve) == pytest.approx(0.5)


def test_measured_points_are_shown_where_there_are_some(widget, opened):
    with opened(widget, width=320) as page:
        dots, said = page.locator(".ntp-plot .dot"), page.locator(".ntp-says")
        assert state(page)["measured"] == SAMPLE
        assert dots.count() == 3 + 1  # and one that says what a dot is
        predicted = state(page)["half"]
        assert "Measured on 100 tables: d/m = 0.25 ± 0.004" in said.text_content()
        assert f"{0.25 * 40 - predicted:.2g} dimensions above" in said.text_content()
        page.get_by_role("slider", name="contexts m").press("ArrowRight")
        assert state(page)["m"] == 320
        assert state(page)["measured"] is None
        assert dots.count() == 0
        assert "Measured are V = 10 with S = 1 and m = 40." in said.text_content()


def test_sizes_stay_possible_and_two_tokens_are_a_theorem(widget, opened):
    with opened(widget) as page:
        support = page.get_by_role("slider", name="support size S")
        support.press("End")
        assert state(page)["S"] == 9
        page.get_by_label("zoom").check()
        page.get_by_role("slider", name="vocabulary V").press("Home")
        assert (state(page)["V"], state(page)["S"]) == (2, 1)
        assert support.is_disabled()
        assert "this is a theorem (Cover)" in page.locator(".ntp-says").text_content()
        page.get_by_role("button", name="Reset").click()
        now = state(page)
        assert (now["V"], now["S"], now["m"]) == (10, 1, 40)
        assert not page.get_by_label("zoom").is_checked()
