"""The figure in which the penalty is lowered: its mathematics against the package's, and what a
reader does with it.
"""

import numpy as np
import pytest
from playwright.sync_api import expect

from ntpcompanion.geometry import cosines, gram_matrices
from tests.widgets.shown import narrow, shown_widget, state


@pytest.fixture(scope="module")
def touched():
    return shown_widget("implicit_geometry", "ridge_path")


def test_geometry_is_that_of_the_package(touched, opened, rng):
    cases = [rng.standard_normal((7, 5)), rng.standard_normal((4, 6))]
    cases += [np.asarray(touched.data["logits"][k]) for k in (6, 15, -1)]
    with opened(touched) as page:
        found = page.evaluate(
            "all => all.map(ntpRidgePath.geometry)", [case.tolist() for case in cases]
        )
    for logits, ours in zip(cases, found, strict=True):
        grams = gram_matrices(logits)
        singular = np.linalg.svd(logits, compute_uv=False)
        assert ours["singular"][: len(singular)] == pytest.approx(singular, abs=1e-7 * singular[0])
        np.testing.assert_allclose(ours["words"], cosines(grams.words), atol=1e-6)
        np.testing.assert_allclose(ours["contexts"], cosines(grams.contexts), atol=1e-6)


def test_numbers_of_every_penalty_are_those_of_its_logits(touched, opened):
    solution = np.asarray(touched.data["solution"])
    indices = list(range(0, len(touched.data["ridges"]), 5))
    with opened(touched) as page:
        found = page.evaluate(
            "([data, indices]) => indices.map(index => ntpRidgePath.measure(data, index))",
            [
                {
                    key: [np.asarray(x).tolist() for x in value] if key != "start" else value
                    for key, value in touched.data.items()
                },
                indices,
            ],
        )
    for index, ours in zip(indices, found, strict=True):
        logits = np.asarray(touched.data["logits"][index])
        along = (logits * solution).sum()
        assert ours["growth"] == pytest.approx(along / (solution**2).sum(), rel=1e-9, abs=1e-12)
        sizes = np.linalg.norm(logits) * np.linalg.norm(solution)
        assert ours["cosine"] == pytest.approx(along / sizes if sizes else 0, rel=1e-9)


def test_a_reader_lowers_the_penalty_by_keyboard(touched, opened):
    with opened(touched) as page:
        shown, said = state(page), page.locator(".ntp-says")
        slider = page.get_by_role("slider", name="ridge penalty")
        assert shown["ridge"] == pytest.approx(1e-3)
        slider.press("End")
        late = state(page)
        assert late["ridge"] == pytest.approx(1e-8)
        assert late["growth"] > shown["growth"] + 10
        assert late["contexts"][0][1] > shown["contexts"][0][1]
        expect(said).to_contain_text("Cosines of contexts with equal supports: 1 and 2:")
        expect(said).to_contain_text("5 and 6:")
        page.get_by_role("combobox", name="cosines of").select_option(label="words")
        assert np.shape(state(page)["shown"]) == (5, 5)
        page.get_by_role("checkbox", name="as predicted from the supports").check()
        wanted = cosines(gram_matrices(touched.data["solution"]).words)
        np.testing.assert_allclose(state(page)["shown"], wanted, atol=1e-6)
        slider.press("Home")
        expect(said).to_contain_text("all logits are zero")
        page.get_by_role("button", name="Reset").press("Enter")
        assert state(page) == shown
        narrow(page)
