"""What the tests of all experiments ask: wrong plans, and results that were stored."""

import json
from pathlib import Path

import pytest

from ntpcompanion.recorded import Run

RECORDS = Path(__file__).resolve().parents[2] / "book" / "records"


def check_wrong_fields(plan, right, wrong):
    """The rejection of a plan with one field wrong names the field and has the words of `wrong`:
    what stands in annotations of fields is tested for all plans in `test_every_experiment`.
    """
    for name, (value, words) in wrong.items():
        with pytest.raises(ValueError, match=words) as caught:
            plan.from_json(right | {name: value})
        assert f"`{name}" in str(caught.value)


def check_result(module, right, found):
    """The result `found` of the plan `right` is plain numbers, found again, and others from another
    seed.
    """
    written = module.Plan.from_json(right).to_json()
    assert {name: written[name] for name in right} == right
    assert module.Result.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found == module.run(module.Plan.from_json(right))
    if "seed" in right:
        assert found != module.run(module.Plan.from_json(right | {"seed": right["seed"] + 1}))


def small_run(module, right, long=False):
    """A fixture, the result of the plan `right`, and a test: `check_result`, which runs twice more
    and is slow where a run is `long`, over half a second of processor time.
    """

    @pytest.fixture(scope="module")
    def found():
        return module.run(module.Plan.from_json(right))

    def repeats(found):
        check_result(module, right, found)

    return found, pytest.mark.slow(repeats) if long else repeats


def recorded(module, name):
    """The runs of a record as `show_record` gives them."""
    rows = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))["results"]
    kinds = module.Plan.from_json, module.Result.from_json
    return [Run(kinds[0](row["parameters"]), kinds[1](row["result"])) for row in rows]
