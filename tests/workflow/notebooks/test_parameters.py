import pytest

from ntpcompanion.workflow.notebooks.parameters import (
    parse_domain,
    parse_parameters,
    parse_value,
    resolve,
)
from tests.refusing import refused

CELL = (
    'rate = 0.5  # step size\nsizes = [1, 2]\nname = "gd"\nfast: bool = True\n'
    'limit = None\nseed = 0  # of "everything"'
)


@pytest.fixture
def parameters():
    return parse_parameters(CELL, "here")


def test_names_defaults_and_meanings(parameters):
    assert {p.name: p.default for p in parameters.values()} == {
        "rate": 0.5,
        "sizes": [1, 2],
        "name": "gd",
        "fast": True,
        "limit": None,
        "seed": 0,
    }
    assert parameters["rate"].meaning == "step size"
    assert parameters["seed"].meaning == 'of "everything"'


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (
            "a, seed = 1, 2",
            r"here: line 1 of the parameters cell must assign a literal to one name",
        ),
        ("seed = 0\nimport os", r"line 2 of the parameters cell"),
        ("seed = f(1)", r"the default of parameter `seed` must be a literal, got `f\(1\)`"),
        ("rate = 1", r"has no `seed`"),
        ("seed = ", r"here: the parameters cell is not Python \(invalid syntax: `seed =`\)"),
        (
            "words = {[1]}\nseed = 0",
            r"the default of parameter `words` must be a literal, got `\{\[1\]\}`",
        ),
    ],
)
def test_cells_that_cannot_be_read(cell, words):
    with refused(words):
        parse_parameters(cell, "here")


def test_given_values_replace_defaults(parameters):
    assert resolve(parameters, {"rate": 2, "sizes": []}, "N") | {"limit": None} == {
        "rate": 2.0,
        "sizes": [],
        "name": "gd",
        "fast": True,
        "limit": None,
        "seed": 0,
    }
    assert resolve(parameters, {"limit": [3]}, "N")["limit"] == [3]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"rates": 1},
            r"N has no parameter 'rates'. Did you mean 'rate'\? Known .*\n  rate = 0.5   step size",
        ),
        ({"rate": "fast"}, r"parameter `rate` must be of type float, like 0.5, got 'fast'"),
        ({"rate": True}, r"`rate` must be of type float"),
        ({"seed": 1.5}, r"`seed` must be of type int, like 0, got 1.5"),
        ({"seed": 1000.0}, r"`seed` must be of type int, like 0, got 1000.0"),
        ({"seed": True}, r"`seed` must be of type int"),
        ({"sizes": [1, "2"]}, r"`sizes` must be of type list of int"),
        ({"sizes": [1, 2.5]}, r"`sizes` must be of type list of int"),
        ({"fast": 1}, r"`fast` must be of type bool"),
    ],
)
def test_wrong_names_and_types(parameters, given, words):
    with refused(words):
        resolve(parameters, given, "N")


@pytest.mark.parametrize("given", [[0.5, True], ["0.5"], [None]])
def test_a_list_of_numbers_takes_nothing_else(given):
    rates = parse_parameters("rates = [0.5]\nseed = 0", "here")
    with refused(r"`rates` must be of type list of float, like \[0.5\]"):
        resolve(rates, {"rates": given}, "N")


@pytest.mark.parametrize(
    "value", [{1, 2}, float("nan"), [float("inf")], b"x", 1j, {1: 2}, [(1, 2)], "\ud800", ...]
)
def test_a_value_that_no_results_file_gives_back_is_refused(parameters, value):
    with refused(
        r"`limit` must be a finite number, a text, a truth value, none, or a list of these, "
        r"got "
    ):
        resolve(parameters, {"limit": value}, "N")


def test_values_from_the_command_line(parameters):
    texts = {
        "rate": "1e-3",
        "sizes": "(3, 4)",
        "name": "12",
        "fast": "false",
        "limit": "none",
        "seed": "-7",
    }
    values = {name: parse_value(parameters[name], text, "N") for name, text in texts.items()}
    assert values == {
        "rate": 1e-3,
        "sizes": [3, 4],
        "name": "12",
        "fast": False,
        "limit": None,
        "seed": -7,
    }
    assert parse_value(parameters["fast"], "True", "N") is True
    with refused(r"`seed` must be of type int, like 0, got 'seven'"):
        parse_value(parameters["seed"], "seven", "N")


DOMAINS = (
    'n = 3  # throws  [1, 10)\nrates = [0.1]  # (0, 1]\nrule = "gd"  # {gd, adam}\n'
    "limit = None  # [0, 1]\nseed = 0"
)


def test_brackets_within_a_sentence_are_not_a_domain():
    for comment in ("size of the figure (2, 3)", "as in Fig. 2 {a, b}", "see  [1, 2].", "a  (b)"):
        (n, _) = parse_parameters(f"n = 3  # {comment}\nseed = 0", "here").values()
        assert n.domain is None


@pytest.mark.parametrize(
    ("line", "default", "given", "value"),
    [
        ("x = [0, 0.01, 0.1]", [0.0, 0.01, 0.1], [1, 2], [1.0, 2.0]),
        ("x = [0.1, 0, None]", [0.1, 0.0, None], [None, 1], [None, 1.0]),
        ("x = ['a', None]", ["a", None], [None, "b"], [None, "b"]),
        ("x: float = 1", 1.0, 2, 2.0),
        ("x: 'list[float]' = [1]", [1.0], [2], [2.0]),
        ("x = {'rate': 0.1, 'sizes': [1]}", {"rate": 0.1, "sizes": [1]}, {}, {}),
    ],
)
def test_lists_and_numbers_have_one_type(line, default, given, value):
    parameters = parse_parameters(f"{line}\nseed = 0", "here")
    assert repr(parameters["x"].default) == repr(default)
    assert repr(resolve(parameters, {}, "N")["x"]) == repr(default)
    assert repr(resolve(parameters, {"x": given}, "N")["x"]) == repr(value)


@pytest.mark.parametrize(
    "default", ["(64, 64)", "[(1, 2), (3, 4)]", "{'a': (1, 2)}", "()", "[[(1,)]]"]
)
def test_a_tuple_would_arrive_as_a_list_and_is_named(default):
    with refused(r"`x` holds a tuple, .*Write a list in brackets"):
        parse_parameters(f"x = {default}\nseed = 0", "here")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, text) for text in ("adam", "007", "a, b", "[1", "", "a'b")),
        *(("12", 12), ("none", None), ("'a b'", "a b"), ("(1, 2)", [1, 2])),
    ],
)
def test_a_default_of_none_takes_any_value_and_a_bare_text(parameters, text, value):
    given = parse_value(parameters["limit"], text, "N")
    assert given == value
    assert resolve(parameters, {"limit": given}, "N")["limit"] == value


def test_a_name_is_that_which_python_knows():
    parameters = parse_parameters("\u00b5 = 1\nseed = 0", "here")  # the micro sign
    assert resolve(parameters, {"\u00b5": 2}, "N") == {"\u03bc": 2, "seed": 0}


def test_values_inside_of_the_domain_pass_and_a_default_outside_does_not():
    given = {"n": 1, "rates": [1.0], "rule": "adam", "limit": None, "seed": -5}
    assert resolve(parse_parameters(DOMAINS, "here"), given, "N") == given
    with refused(r"`seed` must be in \[1, 2\], got 0"):
        resolve(parse_parameters("seed = 0  # [1, 2]", "here"), {}, "N")


@pytest.mark.parametrize(
    ("comment", "inside", "outside"),
    [
        ("throws  [1, inf)", [1, 10**9], [0, float("inf"), float("nan"), "2", None]),
        ("a rate  (0, 1]", [1e-9, 1.0, 1], [0, 1.0000001]),
        ("a power  [-2.5, 3e2)", [-2.5, 299], [-2.6, 300]),
        ("open at both ends  (0, 2)", [1], [0, 2]),
        ("anything below  (-inf, 0]", [-1e300, 0], [1]),
        ("the rule  {gd, adam}", ["gd", "adam"], ["sgd", "", "gd, adam", 3]),
        ("how it is split  {words, FILE}", ["words", "a/b.json", ""], [3, None]),
        ("heads  {1, 2, 0.5}", [1, 2, 0.5], [3, 1.5, "3"]),
    ],
)
def test_values_are_inside_or_outside(comment, inside, outside):
    domain = parse_domain(comment, "here")
    assert [value in domain for value in [*inside, *outside]] == [True] * len(inside) + [
        False
    ] * len(outside)
    assert comment.endswith(str(domain))


@pytest.mark.parametrize(
    "comment",
    [
        "n  [1, ∞)",
        "n  [1; 2]",
        "n  [2, 1]",
        "n  [1, 1]",
        "n  [1,]",
        "n  (0, one)",
        "rule  {gd,}",
        "rule  {}",
        "n  [inf, 3]",
        "n  [1, 2, 4]",
    ],
)
def test_what_is_meant_as_a_domain_and_is_none_is_an_error(comment):
    with refused(
        r"here: its comment ends in '.*', which is not a domain. Write an interval like \[1, "
        r"inf\)"
    ):
        parse_domain(comment, "here")


def test_a_parameter_that_is_assigned_twice_is_named():
    with refused("here: the parameters cell assigns `n` twice"):
        parse_parameters("n = 1  # [0, 9]\nn = 50\nseed = 0", "here")
