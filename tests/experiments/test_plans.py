"""Every field of every plan, wrong in each way that its annotation rules out, is named."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import ntpcompanion.experiments
from ntpcompanion.experiments import experiment


def plans() -> dict[str, type[experiment.Plan]]:
    """By the name of the experiment."""
    package = ntpcompanion.experiments
    modules = {
        found.name.removeprefix(f"{package.__name__}."): import_module(found.name)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not found.ispkg and not found.name.endswith(".__main__")
    }
    return {
        name: module.Plan
        for name, module in modules.items()
        if hasattr(module, "run") and hasattr(module, "Plan")
    }


PLANS = plans()


def wrong_values(schema: dict[str, Any], parts: dict[str, Any]) -> Iterator[Any]:
    """Values of JSON that a schema rules out, one for each of its words that this knows."""
    schema = parts[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if "anyOf" in schema or "oneOf" in schema:
        yield "no such value"
        return
    if schema.get("enum"):
        yield "no such value"
    kind = schema.get("type")
    yield 3 if kind in {"string", "object", "array"} else "3"
    for word, step in {"minimum": -1, "exclusiveMinimum": 0, "maximum": 1}.items():
        if word in schema:
            yield schema[word] + step
    if "exclusiveMaximum" in schema:
        yield schema["exclusiveMaximum"]
    if schema.get("minItems"):
        yield []
    if isinstance(schema.get("items"), dict):
        yield from ([value] for value in wrong_values(schema["items"], parts))


def cases() -> list[Any]:
    rows = []
    for name, plan in PLANS.items():
        schema = plan.model_json_schema()
        for field, inner in schema["properties"].items():
            rows += [
                pytest.param(plan, field, value, id=f"{name}-{field}-{value}")
                for value in wrong_values(inner, schema.get("$defs", {}))
            ]
    return rows


def test_all_experiments_are_looked_at():
    assert len(PLANS) > 50
    assert len(cases()) > 8 * len(PLANS)


@pytest.mark.parametrize(("plan", "field", "value"), cases())
def test_a_wrong_value_is_named_and_shown(plan, field, value):
    with pytest.raises(ValueError) as caught:
        plan.from_json({field: value})
    sentences = [text for text in str(caught.value).split(". ") if text.startswith(f"`{field}")]
    shown = value[0] if isinstance(value, list) and value else value
    assert any(repr(shown) in text for text in sentences), caught.value


@pytest.mark.parametrize("name", PLANS)
def test_a_field_that_is_missing_or_unknown_is_named(name):
    plan = PLANS[name]
    with pytest.raises(ValueError) as caught:
        plan.from_json({"no_such_field": 1})
    assert "`no_such_field` is not a field of this plan." in str(caught.value)
    for field, info in plan.model_fields.items():
        missing = f"`{field}` is missing: give it a value." in str(caught.value)
        assert missing == info.is_required()
