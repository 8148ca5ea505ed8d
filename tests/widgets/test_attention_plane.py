"""The figure in which a start is moved: its descent against the package's, and what a reader does
with it.
"""

import numpy as np
import pytest
from playwright.sync_api import expect

from ntpcompanion.attention import TokenSequences, descend_attention
from ntpcompanion.experiments import attention_starts
from tests.widgets.shown import narrow, shown_widget, state

RATES = {"gd": 1.0, "ngd": 0.1, "polyak": 1.0}


@pytest.fixture(scope="module")
def touched():
    ends = attention_starts.run(attention_starts.Plan(starts=2, few_sets=2, seed=0))
    return shown_widget("attention_bias", "attention_plane", ends=ends)


def path_of(data, start, method, steps):
    one = TokenSequences(np.array([data["tokens"]]), np.ones((1, 1)), np.ones(1))
    how = {"method": method, "learning_rate": RATES[method], "keep": [steps]}
    return descend_attention(one, [0.0, 1.0], start=np.array(start)[:, None], **how)


def matches(page, data):
    now = state(page)
    path = path_of(data, now["start"], now["method"], now["steps"])
    np.testing.assert_allclose(now["weights"], path.weights[0][:, 0], rtol=1e-7, atol=1e-7)
    assert now["norm"] == pytest.approx(path.norm[0])
    np.testing.assert_allclose(now["attention"], path.attention[0, 0], atol=1e-9)
    for error, unit in zip(now["errors"], data["directions"], strict=True):
        wanted = path.direction_error(np.array(unit)[:, None])[0]
        assert error == pytest.approx(wanted, abs=1e-6)
    return now


def test_descent_is_that_of_the_package(touched, opened):
    data = {key: np.asarray(touched.data[key]).tolist() for key in ("tokens", "scores")}
    cases = [
        (start, method) for start in ([0.1, 0.0], [-3.0, 4.0], [5.0, -2.0]) for method in RATES
    ]
    with opened(touched) as page:
        found = page.evaluate(
            "([data, cases]) => cases.map(([start, method]) => "
            "ntpAttentionPlane.descend(data, start, method, 60)[60])",
            [data, cases],
        )
    for (start, method), ours in zip(cases, found, strict=True):
        wanted = path_of(data, start, method, 60).weights[0][:, 0]
        np.testing.assert_allclose(ours, wanted, rtol=1e-8, atol=1e-8)


def test_a_reader_moves_the_start_and_lets_the_norm_grow(touched, opened):
    with opened(touched) as page:
        shown, said = matches(page, touched.data), page.locator(".ntp-says")
        expect(said).to_contain_text("on token 1, score 1: the best one")
        start = page.get_by_role("slider", name="start of w")
        start.press("PageUp")
        start.press("PageUp")
        start.press("ArrowRight")
        assert matches(page, touched.data)["attention"][1] > 0.99
        expect(said).to_contain_text("on token 2, score 0.5 and stays there")
        slider = page.get_by_role("slider", name="number of steps")
        slider.press("Home")
        assert matches(page, touched.data)["steps"] == 0
        slider.press("End")
        assert matches(page, touched.data)["errors"][1] < 0.02
        page.get_by_role("combobox", name="steps by").select_option(label="gradient descent")
        assert matches(page, touched.data)["method"] == "gd"
        page.get_by_role("combobox", name="steps by").select_option(label="Polyak's steps")
        assert matches(page, touched.data)["method"] == "polyak"
        page.get_by_role("button", name="Reset").press("Enter")
        assert state(page) == shown
        narrow(page)


def test_a_path_is_drawn_to_the_edge_and_not_along_it(touched, opened):
    paths = [[[0, 0], [1, 2]], [[0, 0], [10, 4], [14, 8], [30, 9]], [[0, 1], [3, -23]], [[13, 0]]]
    with opened(touched) as page:
        kept = page.evaluate("paths => paths.map(path => ntpAttentionPlane.inside(path))", paths)
        told = page.locator(".ntp-says")
        expect(told).to_contain_text("The dot on the edge of the plane shows its direction only.")
        page.get_by_role("slider", name="number of steps").press("Home")
        expect(told).not_to_contain_text("edge")
    assert kept == [paths[0], [[0, 0], [10, 4], [12, 6]], [[0, 1], [1.625, -12]], []]
