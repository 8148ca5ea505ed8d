import math
import subprocess
import sys

import numpy as np
import pytest

from ntpcompanion.workflow.measure import MEASUREMENT_MIME, measure, measurement


def test_numbers_of_any_library_become_json():
    assert measurement("a.b", np.float32(0.5), stderr=np.array(0.1), seed=3) == {"id": "a.b", "value": 0.5, "stderr": 0.1, "seed": 3}
    assert measurement("a.b", np.arange(3))["value"] == [0.0, 1.0, 2.0]
    assert measurement("a.b", np.bool_(True))["value"] == 1.0


def test_outside_of_jupyter_it_prints(capsys):
    measure("a.b", 0.25, stderr=0.125)
    assert capsys.readouterr().out == "a.b = 0.25 ± 0.125\n"


def test_what_is_exact_is_shown_without_an_error(capsys):
    measure("a.b", 0.25)
    assert capsys.readouterr().out == "a.b = 0.25\n"


def test_in_a_kernel_it_is_an_output_of_the_cell(displayed):
    measure("a.b<c>", 0.5, stderr=0.25, seed=3)
    assert displayed() == [
        {
            MEASUREMENT_MIME: {"id": "a.b<c>", "value": 0.5, "stderr": 0.25, "seed": 3},
            "text/plain": "a.b<c> = 0.5 ± 0.25",
            "text/html": "<p><code>a.b&lt;c&gt; = 0.5 ± 0.25</code></p>",
        }
    ]


def test_without_ipython_it_prints(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "IPython.core.getipython", None)
    measure("a.b", [1.0, 2.0], stderr=[0.0, 0.5])
    assert capsys.readouterr().out == "a.b = [1, 2] ± [0, 0.5]\n"


def test_what_is_not_random_carries_no_error():
    assert measurement("a.b", 1) == {"id": "a.b", "value": 1.0, "stderr": 0.0, "seed": None}


def test_in_plain_ipython_it_shows():
    command = [
        sys.executable,
        "-m",
        "IPython",
        "--quick",
        "--no-banner",
        "-c",
        "from ntpcompanion.workflow import measure; measure('a.b', [1, 2])",
    ]
    assert "a.b = [1, 2]" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("value", "options", "words"),
    [
        (math.nan, {}, r"`value` of 'a.b' is nan"),
        ([1.0, math.inf], {}, r"`value` of 'a.b' is inf"),
        ([], {}, r"`value` of 'a.b' is empty"),
        ("0.5", {}, r"`value` of 'a.b' must be a number .* got '0.5'"),
        ([[1.0]], {}, r"flat sequence of numbers, got \[1.0\]"),
        (1.0, {"stderr": -0.1}, r"`stderr` of 'a.b' must not be negative, got -0.1"),
        ([1.0, 2.0], {"stderr": [-0.1, 0.2]}, r"must not be negative, got \[-0.1, 0.2\]"),
        ([1.0, 2.0], {"stderr": [0.1]}, r"got 1 errors for"),
        (1.0, {"stderr": [0.1]}, r"must be one number or as many as `value`, got 1 errors for 1.0"),
        (1.0, {"seed": True}, r"`seed` of 'a.b' must be an integer or None, got True"),
        (1.0, {"seed": 1.5}, r"`seed` of 'a.b' must be an integer or None, got 1.5"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_cannot_be_judged_is_refused(value, options, words):
    with pytest.raises(ValueError, match=words):
        measurement("a.b", value, **options)


def test_a_claim_has_a_name():
    with pytest.raises(ValueError, match=r"`claim` must be the id .* got ''"):
        measurement("", 1.0)
