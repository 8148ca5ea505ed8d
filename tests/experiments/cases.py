"""What the tests of all experiments ask: wrong plans, and results that were stored."""

import json
from pathlib import Path

import pytest

RECORDS = Path(__file__).resolve().parents[2] / "book" / "records"


def check_wrong_fields(plan, right, wrong):
    """The rejection of a plan with one field wrong names the field and has the words of `wrong`:
    what stands in annotations of fields is tested for all plans in `test_every_experiment`.
    """
    for name, (value, words) in wrong.items():
        with pytest.raises(ValueError, match=words) as caught:
            plan.from_json(right | {name: value})
        assert f"`{name}" in str(caught.value)


def small_run(module, right):
    """A fixture, the result of the plan `right`, and a test: it is plain numbers, found again, and
    others from another seed.
    """

    @pytest.fixture(scope="module")
    def found():
        return module.run(module.Plan.from_json(right))

    def repeats(found):
        written = module.Plan.from_json(right).to_json()
        assert {name: written[name] for name in right} == right
        assert module.Result.from_json(json.loads(json.dumps(found.to_json()))) == found
        assert found == module.run(module.Plan.from_json(right))
        if "seed" in right:
            assert found != module.run(module.Plan.from_json(right | {"seed": right["seed"] + 1}))

    return found, repeats
