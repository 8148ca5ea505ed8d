import json
import re

import numpy as np
import pytest
from matplotlib import pyplot

from ntpcompanion import plots


@pytest.fixture
def picture(ax):
    ax.plot([0, 1], [0, 1], clip_on=True)
    return ax.figure


def inlined(html):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])


def test_data_are_inlined_as_json_that_ends_no_script(picture):
    data = {
        "table": np.array([[1, 2], [3, 4]]),
        "scalar": np.float64(0.5),
        "tuple": (None, True, 3),
        "hostile": {"</script><!--": "<b>&\u2028"},
    }
    html = plots.widget("some_name", data, picture=picture, alt='A "line"')._repr_html_()
    plain = {
        "table": [[1, 2], [3, 4]],
        "scalar": 0.5,
        "tuple": [None, True, 3],
        "hostile": {"</script><!--": "<b>&\u2028"},
    }
    assert inlined(html) == plain
    assert html.startswith('<figure class="ntp-widget" data-widget="some_name">')
    assert html.count("<script") == html.count("</script>") == 1
    assert 'aria-label="A &quot;line&quot;"' in html


def test_the_picture_is_part_of_the_page_under_ids_of_its_own(picture):
    html = plots.widget("some_name", {}, picture=picture, alt="A line")._repr_html_()
    svg = html[html.index("<svg") : html.index("</svg>")]
    ids = set(re.findall(r'\bid="([^"]+)"', svg))
    used = set(re.findall(r'(?:="#|url\(#)([^")]+)', svg))
    assert used
    assert used <= ids
    assert all(name.startswith("ntp-some_name-") for name in ids)
    assert "<metadata" not in svg
    assert pyplot.get_fignums() == [], "a notebook would show it a second time"


def test_in_a_terminal_a_widget_is_a_line(picture):
    shown = repr(plots.widget("name", {}, picture=picture, alt="A line"))
    assert shown == "interactive figure name: A line"


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ({"a": [1.0, {"b": np.nan}]}, ValueError, r"got nan at data\['a'\]\[1\]\['b'\]"),
        ({"a": np.array([np.inf])}, ValueError, r"got inf at data\['a'\]\[0\]"),
        ({"a": {1: 2}}, TypeError, r"got dict at data\['a'\]"),
        ({"a": {3}}, TypeError, r"got set at data\['a'\]"),
        ({"a": 1j}, TypeError, r"got complex at data\['a'\]"),
    ],
)
def test_what_is_not_finite_json_is_refused(picture, data, error, message):
    with pytest.raises(error, match=message):
        plots.widget("name", data, picture=picture, alt="A line")


def test_names_and_texts_are_checked(picture):
    with pytest.raises(ValueError, match=r"`name` must consist of .* got 'plane-SVM'"):
        plots.widget("plane-SVM", {}, picture=picture, alt="A line")
    with pytest.raises(ValueError, match=r"`alt` must say in words"):
        plots.widget("name", {}, picture=picture, alt=" ")
