"""What holds of all experiments: a wrong field of a plan is named, and records are read."""

import json
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ntpcompanion.experiments
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.running.layout import files_below_root
from ntpcompanion.workflow.sweeps.targets import (
    declared_inputs,
    known_experiments,
    load_experiment,
)


def experiments() -> dict[str, ModuleType]:
    """By the name of the module."""
    package = ntpcompanion.experiments
    modules = [
        import_module(found.name)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not found.ispkg and not found.name.endswith(".__main__")
    ]
    return {
        module.__name__.rpartition(".")[2]: module
        for module in modules
        if hasattr(module, "run") and hasattr(module, "Plan")
    }


EXPERIMENTS = experiments()
RECORDS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parents[2] / "book" / "records").glob("*.json"))
}


def wrong_values(schema: dict[str, Any], parts: dict[str, Any]) -> Iterator[Any]:
    """Values of JSON that a schema rules out, one for each of its words that this knows."""
    schema = parts[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if choices := schema.get("anyOf", schema.get("oneOf")):
        yield 3 if "string" in [choice.get("type") for choice in choices] else "none"
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


def wrong_fields(plan: Any) -> list[tuple[str, Any]]:
    """Each field of a plan with each value that its schema rules out."""
    schema = plan.model_json_schema()
    return [
        (field, value)
        for field, inner in schema["properties"].items()
        for value in wrong_values(inner, schema.get("$defs", {}))
    ]


def holds(written: Any, stored: Any) -> bool:
    """Is every value of a stored plan in the written one, which has defaults, and no names?"""
    if isinstance(stored, dict):
        return all(name in written and holds(written[name], stored[name]) for name in stored)
    if isinstance(stored, list):
        return len(written) == len(stored) and all(map(holds, written, stored))
    return written == stored or (isinstance(stored, str) and isinstance(written, dict))


def test_all_experiments_are_looked_at():
    assert len(EXPERIMENTS) > 50
    assert sum(len(wrong_fields(module.Plan)) for module in EXPERIMENTS.values()) > 900


def test_each_is_run_by_its_name():
    """By `ntpcompanion sweep NAME`, and in a script as `from ntpcompanion.experiments import`."""
    project = Project.find(Path(__file__).parent)
    assert sorted(known_experiments(project)) == sorted(EXPERIMENTS)
    for name, module in EXPERIMENTS.items():
        assert load_experiment(project, name) is module is getattr(ntpcompanion.experiments, name)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_wrong_value_is_named_and_shown(name):
    plan = EXPERIMENTS[name].Plan
    for field, value in wrong_fields(plan):
        with pytest.raises(ValueError) as caught:
            plan.from_json({field: value})
        sentences = [text for text in str(caught.value).split(". ") if text.startswith(f"`{field}")]
        shown = value[0] if isinstance(value, list) and value else value
        assert any(repr(shown) in text for text in sentences), caught.value


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_field_of_a_plan_is_asked_for_and_says_what_it_is(name):
    """By a description, or by its class; `run` has no more to say about its plan."""
    plan = EXPERIMENTS[name].Plan
    with pytest.raises(ValueError) as caught:
        plan.from_json({"no_such_field": 1})
    assert "`no_such_field` is not a field of this plan." in str(caught.value)
    for field, info in plan.model_fields.items():
        missing = f"`{field}` is missing: give it a value." in str(caught.value)
        assert missing == info.is_required()
        own = isclass(info.annotation) and info.annotation.__module__ != "builtins"
        assert info.description or (own and info.annotation.__doc__), field
    assert EXPERIMENTS[name].Result.__doc__


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_plan_says_which_values_go_together(name):
    """In a paragraph of its docstring, which the page of the experiments shows."""
    plan = EXPERIMENTS[name].Plan
    assert "\n\n" in plan.__doc__ or not plan.__pydantic_decorators__.model_validators


@pytest.mark.parametrize("name", [name for name, record in RECORDS.items() if "plan" in record])
def test_every_plan_and_result_of_a_record_is_read_and_written_as_it_was(name):
    """And what a plan reads is there: a task runs in a folder that holds nothing else."""
    project = Project.find(Path(__file__).parent)
    module = EXPERIMENTS[RECORDS[name]["plan"]["experiment"]]
    assert RECORDS[name]["results"]
    for row in RECORDS[name]["results"]:
        plan = module.Plan.from_json(row["parameters"])
        assert holds(module.Result.from_json(row["result"]).to_json(), row["result"])
        assert holds(plan.to_json(), row["parameters"])
        files = declared_inputs(module, plan)
        assert list(files_below_root(project, files, name)) == files
