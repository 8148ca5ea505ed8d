"""Gradient flow under a slider: at stored times the numbers are the package's, and between them
they are interpolated.
"""

import numpy as np
import pytest

from ntpcompanion import plots
from ntpcompanion.linear import (
    ContextTable,
    measure_alignment,
    project_onto_F,
    solve_ntp_svm,
)
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.svm.planar_examples import SUPPORTS
from tests.widgets.shown import state

# ten times to a decade of log t, so that steps of the slider reach them
LOG_TIMES = 10 ** np.linspace(0, 6, 61)


@pytest.fixture(scope="module")
def plane():
    turned, support = np.radians([17, 140, 250]), np.zeros((3, 5))
    for context, words in enumerate(SUPPORTS):
        support[context, np.array(words) - 1] = 0.2, 0.3, 0.5
    embeddings = np.stack([np.cos(turned), np.sin(turned)], axis=1)
    table = ContextTable(embeddings, support, np.full(3, 1 / 3))
    return table, solve_ntp_svm(table, tol=1e-12)


@pytest.fixture(scope="module")
def flow(plane):
    return gradient_flow(plane[0], LOG_TIMES, tol=1e-9)


@pytest.fixture
def widget(plane, flow):
    table, solved = plane
    finite = np.array([project_onto_F(table, W) for W in flow.weights])
    rest = flow.weights - finite - LOG_TIMES[:, None, None] * solved.weights
    tail = np.log(np.linalg.norm(flow.finite, axis=1)) + flow.log_scales
    data = {"log_times": LOG_TIMES, "finite": finite, "rest": rest, "svm": solved.weights}
    data |= {"contexts": table.embeddings, "support": 1 * (table.next_token > 0)}
    data |= {"log_excess": flow.log_excess, "log_finite_error": tail, "start": np.log(5000)}
    data |= {"marked": {"log_time": np.log(5000), "label": "10,000 steps"}}
    fig, _ = plots.figure()
    return plots.widget("log_time", data, picture=fig, alt="The error falls.")


def move(page, digits):
    page.get_by_role("slider", name="time").fill(f"{digits:.2f}")
    return state(page)


def test_stored_times_show_the_numbers_of_the_package(widget, opened, plane, flow):
    (table, solved), stored = plane, [0, 7, 20, 40, 60]
    aligned = measure_alignment(table, flow.weights, solved.weights)
    with opened(widget) as page:
        shown = [move(page, k / 10) for k in stored]
    for k, now in zip(stored, shown, strict=True):
        W = flow.weights[k]
        inside = project_onto_F(table, W)
        norm, support = np.linalg.norm(W), table.next_token > 0
        assert now["logTime"] == LOG_TIMES[k]
        np.testing.assert_allclose(now["weights"], W, rtol=1e-12, atol=1e-12 * norm)
        # of log t = 10⁶ a part of 10⁻⁶ is known to rounding of the whole
        exact = {"rel": 1e-9, "abs": 1e-14}
        assert now["inSupport"] == pytest.approx(np.linalg.norm(inside) / norm, **exact)
        assert now["distance"] == pytest.approx(aligned.distance[k], rel=1e-6)
        assert now["logExcess"] == flow.log_excess[k]
        logits = table.embeddings @ (W - inside).T
        level = np.where(support, logits, -np.inf).max(axis=1, keepdims=True)
        least = np.where(support, np.inf, level - logits).min()
        assert now["margin"] == pytest.approx(least / norm, abs=1e-9)


def test_between_stored_times_it_is_close_to_the_flow(widget, opened, plane):
    table, solved = plane
    with opened(widget) as page:
        shown = [move(page, digits) for digits in (0.45, 1.25, 3.05)]
    times = [now["logTime"] for now in shown]
    assert times == pytest.approx([10**0.45, 10**1.25, 10**3.05])
    flow = gradient_flow(table, times, tol=1e-9)
    aligned = measure_alignment(table, flow.weights, solved.weights)
    errors = [now["distance"] for now in shown]
    np.testing.assert_allclose(errors, aligned.distance, rtol=0.02)


def test_time_moves_by_keys_and_by_itself(widget, opened):
    with opened(widget, width=390) as page:
        assert state(page)["logTime"] == pytest.approx(np.log(5000), rel=0.02)
        slider = page.get_by_role("slider", name="time")
        slider.press("End")
        assert state(page)["logTime"] == 1e6
        assert slider.get_attribute("aria-valuetext") == "log t = 10⁶"
        assert "10⁴³⁴²⁹⁴" in page.locator(".ntp-says").text_content()
        page.get_by_role("button", name="Play").click()
        page.wait_for_function("document.querySelector('.ntp-widget').ntpState.logTime < 1e5")
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Reset").click()
        assert state(page)["logTime"] == pytest.approx(np.log(5000), rel=0.02)
    with opened(widget, width=320, reduced_motion="reduce") as page:
        page.get_by_role("slider", name="time").press("Home")
        page.get_by_role("button", name="Play").click()
        page.wait_for_function("document.querySelector('.ntp-widget').ntpState.logTime > 1")
        assert state(page)["logTime"] == 10
