"""What all interactive figures share, on one made for this test."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from ntpcompanion import plots
from tests.widgets.shown import state

TOY = Path(__file__).with_name("toy.js").read_text()  # a point on a line, and one of each input


@pytest.fixture
def toy():
    fig, (ax,) = plots.figure()
    ax.plot([1, 2])
    return plots.widget("toy", {"x": 100.0, "hostile": "</script><b>"}, picture=fig, alt="A line.")


def test_a_widget_takes_the_place_of_its_picture(toy, opened):
    with opened(toy, scripts={"toy": TOY}) as page:
        expect(page.locator(".ntp-widget-live")).to_be_visible()
        expect(page.locator(".ntp-widget-picture")).to_be_hidden()
        assert state(page) == {"x": 100, "size": 1, "on": False, "kind": "a", "still": False}
        assert page.locator(".ntp-says").text_content() == "x is 100"
    with opened(toy, media="print") as page:
        expect(page.locator(".ntp-widget-live")).to_be_hidden()
        expect(page.locator(".ntp-widget-picture")).to_be_visible()
    with opened(toy, java_script_enabled=False) as page:
        expect(page.get_by_role("img", name="A line.")).to_be_visible()
        expect(page.locator(".ntp-widget-live")).to_have_count(0)


def test_inputs_have_names_and_answer_to_the_keyboard(toy, opened):
    with opened(toy, scripts={"toy": TOY}) as page:
        page.get_by_role("slider", name="size").focus()
        page.keyboard.press("ArrowRight")
        assert page.get_by_role("slider", name="size").get_attribute("aria-valuetext") == "2 cm"
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.get_by_label("kind").select_option("second")
        assert state(page) == {"x": 100, "size": 2, "on": True, "kind": "b", "still": False}
        page.get_by_role("button", name="Reset").press("Enter")
        assert state(page)["size"] == 1


def test_a_point_is_moved_with_keys_and_with_the_pointer(toy, opened):
    with opened(toy, scripts={"toy": TOY}, reduced_motion="reduce") as page:
        point = page.get_by_role("slider", name="x", exact=True)
        point.focus()
        page.keyboard.press("PageDown")
        page.keyboard.press("ArrowRight")
        assert state(page)["x"] == pytest.approx(10**1.1)
        assert point.get_attribute("aria-valuetext") == "x = 12.6"
        box = point.bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] + 2000, middle[1] + 30)
        page.mouse.up()
        page.mouse.move(*middle)
        assert state(page)["x"] == 1e4
        assert state(page)["still"] is True


def test_it_fits_every_width(toy, opened):
    with opened(toy, scripts={"toy": TOY}, width=1280) as page:
        wide = page.locator(".ntp-plot svg").bounding_box()["width"]
        page.set_viewport_size({"width": 320, "height": 900})
        page.wait_for_function(f"document.querySelector('.ntp-plot svg').clientWidth < {wide / 2}")


def test_a_widget_that_fails_leaves_the_picture(toy, opened):
    broken = 'ntpWidgets.register("toy", function () { "use strict"; throw new Error("gone"); });'
    said = []
    with opened(toy, scripts={"toy": broken}, faults=said) as page:
        expect(page.locator(".ntp-widget-picture")).to_be_visible()
        expect(page.locator(".ntp-widget-live")).to_have_count(0)
    assert said == ["script error: gone"]
