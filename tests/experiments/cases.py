"""What the tests of all experiments ask: wrong plans, and results that were stored."""

import json
from pathlib import Path

import pytest

RECORDS = Path(__file__).resolve().parents[2] / "book" / "records"


def check_refusals(plan, right, wrong):
    """`right` is a plan; with each field of it wrong once, the rejection names field and value.

    `wrong` holds, for each field, a value and words of the rejection.
    """
    assert plan.from_json(right).to_json() == {**plan.from_json(right).to_json(), **right}
    assert set(wrong) == set(plan.model_fields), "every field is wrong once"
    for name, (value, words) in wrong.items():
        with pytest.raises(ValueError, match=words) as caught:
            plan.from_json(right | {name: value})
        assert f"`{name}" in str(caught.value)
    for name, field in plan.model_fields.items():
        if field.is_required():
            with pytest.raises(ValueError, match=f"^`{name}` is missing: give it a value.$"):
                plan.from_json({key: value for key, value in right.items() if key != name})


def check_stored(module, name):
    """Every result of a record is read, and written as it was; so is every plan."""
    rows = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))["results"]
    assert rows
    for row in rows:
        assert module.Result.from_json(row["result"]).to_json() == row["result"]
        plan = module.Plan.from_json(row["parameters"]).to_json()
        assert {key: plan[key] for key in row["parameters"]} == row["parameters"]


def check_result(module, right, found):
    """A result of the plan `right` is plain numbers, found again, and others from another seed."""
    assert module.Result.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found == module.run(module.Plan.from_json(right))
    assert found != module.run(module.Plan.from_json(right | {"seed": right["seed"] + 1}))
