"""The faces of the rooms: what they list is there, documented, and loaded when it is asked for."""

import ast
import importlib
import inspect
import operator
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ntpcompanion
from ntpcompanion.workflow.hashing.stub_names import read_stub

PACKAGE = Path(ntpcompanion.__file__).parent
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.pyi"))
NAMES = [(room, name) for room in ROOMS for name in read_stub(PACKAGE / room)]


def place(room, name):
    """Where a public name is defined, relative to its package: a module, or something in one."""
    return PACKAGE / room / read_stub(PACKAGE / room)[name].replace(".", "/")


MODULES = [(room, name) for room, name in NAMES if place(room, name).with_suffix(".py").is_file()]
HEAVY = {"numpy", "scipy", "torch", "cvxpy", "sympy", "pandas", "matplotlib", "seaborn"}


def face(room):
    return importlib.import_module(f"ntpcompanion.{room}")


def parsed(path):
    return ast.parse(path.read_text())


def functions_behind(room, name):
    """What is called under a name of a face: nothing of a constant, of an experiment its `run`, of
    another module the function of its name.
    """
    if (room, name) not in MODULES:
        return [] if name.isupper() else [name]
    tree = parsed(place(room, name).with_suffix(".py"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return [f"{name}.run" if "run" in defined else f"{name}.{name}"]


SCIENCE = [
    (room, function)
    for room, name in NAMES
    if room not in ("workflow", "plots")
    for function in functions_behind(room, name)
]


def found_at(room, dotted):
    return operator.attrgetter(dotted)(face(room))


def listed(room):
    """`__all__` of the stub, in its order."""
    tree = parsed(PACKAGE / room / "__init__.pyi")
    return next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))


def loaded_by(code):
    """Which modules a fresh process has loaded after `code`."""
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("room", ROOMS)
def test_a_face_lists_about_fifteen_names_all_of_which_are_there(room):
    names = listed(room)
    assert set(names) == set(read_stub(PACKAGE / room)) == set(face(room).__all__)
    assert len(names) == len(set(names))
    met = [name for name in names if (room, name) not in MODULES]  # each experiment is one
    assert len(met) <= (40 if room == "plots" else 20)


@pytest.mark.parametrize(("room", "name"), [each for each in NAMES if each not in MODULES])
def test_a_name_is_that_of_the_module_that_defines_it(room, name):
    module = importlib.import_module(
        f"ntpcompanion.{room}.{read_stub(PACKAGE / room)[name].rpartition('.')[0]}"
    )
    found = getattr(face(room), name)
    assert found is getattr(module, name)
    assert getattr(found, "__module__", module.__name__) == module.__name__, "a re-export"


def test_every_experiment_that_a_record_can_name_is_a_name_of_its_room():
    experiments = {
        path.stem
        for path in (PACKAGE / "experiments").rglob("*.py")
        if {"Plan", "Result", "run"} <= {getattr(node, "name", "") for node in parsed(path).body}
    }
    shown = {name for room, name in MODULES if room == "experiments"}
    assert experiments <= shown
    for name in shown:
        module = importlib.import_module(
            f"ntpcompanion.experiments.{read_stub(PACKAGE / 'experiments')[name]}"
        )
        assert getattr(face("experiments"), name) is module


@pytest.mark.parametrize("room", ROOMS)
def test_importing_a_room_loads_none_of_its_modules_and_nothing_heavy(room):
    modules = loaded_by(f"import ntpcompanion.{room}")
    assert not modules & HEAVY
    assert {m for m in modules if m.startswith(f"ntpcompanion.{room}.")} == set()


def test_a_name_loads_its_module_and_not_its_neighbours():
    modules = loaded_by("from ntpcompanion.languages import encode")
    assert "ntpcompanion.languages.text.words" in modules
    assert "ntpcompanion.languages.hmm" not in modules
    assert "torch" not in modules


def test_a_plan_of_a_network_loads_no_torch():
    assert "torch" not in loaded_by("from ntpcompanion.networks import ModelPlan, TransformerSize")


def test_a_function_keeps_its_name_where_its_module_is_loaded_first():
    """Each in a process that has loaded nothing of ours yet; libraries are loaded once for all."""
    same = [
        (room, name) for room, name in NAMES if read_stub(PACKAGE / room)[name] == f"{name}.{name}"
    ]
    assert same
    loaded_by(
        f"""
for room, name in {same}:
    for module in [module for module in sys.modules if module.startswith("ntpcompanion")]:
        del sys.modules[module]
    exec(f"import ntpcompanion.{{room}}.{{name}}, ntpcompanion.{{room}} as room_itself")
    assert callable(getattr(room_itself, name)), (room, name)
"""
    )


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("from ntpcompanion.linear import ContextTable", "numpy"),
        ("from ntpcompanion import languages; languages.HMM", "torch"),
    ],
)
def test_without_its_packages_a_name_says_which_extra_to_install(code, missing):
    hide = f"import sys\nsys.modules[{missing!r}] = None\n"
    done = subprocess.run([sys.executable, "-c", hide + code], capture_output=True, text=True)
    said = done.stderr.strip().splitlines()[-1]
    assert re.fullmatch(
        rf"ImportError: ntpcompanion\.\w+\.\w+ needs the package '{missing}', which is not "
        rf"installed: pip install 'ntpcompanion\[science\]'\.",
        said,
    )


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="solve_svm"):
        _ = face("linear").solve_svm


def documented(room, name):
    found = found_at(room, name)
    return inspect.getdoc(found) or "", found


@pytest.mark.parametrize(("room", "name"), SCIENCE)
def test_every_function_of_a_face_documents_its_arguments_and_result(room, name):
    text, found = documented(room, name)
    assert text, f"{room}.{name} has no docstring"
    if inspect.isclass(found):
        return
    parameters = inspect.signature(found).parameters
    for parameter in parameters:
        assert re.search(rf"\b{parameter}\b", text), f"{room}.{name}: {parameter} is not described"
    # the type of the result, and below it what it is
    result = re.search(r"^(Returns|Yields)\n-+\n\S.*\n    \S", text, re.M)
    assert result, f"{room}.{name} does not say what it returns"


@pytest.mark.parametrize(("room", "name"), SCIENCE)
def test_what_a_function_raises_itself_is_documented(room, name):
    text, found = documented(room, name)
    raised = {
        node.exc.func.id
        for node in ast.walk(ast.parse(inspect.getsource(inspect.unwrap(found)).lstrip()))
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and isinstance(node.exc.func, ast.Name)
    }
    if not inspect.isclass(found):
        assert all(error in text for error in raised), f"{room}.{name} does not document {raised}"


def test_drawing_loads_torch_and_solvers_for_those_figures_only_that_need_them():
    modules = loaded_by("from ntpcompanion import plots; plots.figure(); plots.draw_floor")
    assert "matplotlib" in modules
    assert not modules & {"torch", "cvxpy", "sympy"}


@pytest.mark.parametrize(("room", "name"), NAMES)
def test_every_name_of_a_face_stands_on_the_page_of_its_room(room, name):
    page = (PACKAGE.parent / "book" / "api" / f"{room}.md").read_text()
    assert re.search(rf"ntpcompanion\.{room}\.(\w+\.)?{name}$|^\|.*`{name}`", page, re.M)
