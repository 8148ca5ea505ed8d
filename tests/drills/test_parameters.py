"""A parameter that is misspelled, of the wrong type or outside of its domain: a sentence at once,
no kernel.
"""

import pytest


@pytest.fixture
def strict(toy, no_kernel):
    """The toy project with a domain for `n`, and without kernels."""
    no_kernel()
    toy.edit("notebooks/coin.md", "n = 1000  # throws", "n = 1000  # throws  [1, inf)")
    return toy


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        (
            "m=1",
            "error: Notebook 'coin' has no parameter 'm'. Known parameters and defaults: n = 1000 "
            "throws [1, inf)",
        ),
        ("sead=1", "has no parameter 'sead'. Did you mean 'seed'?"),
        ("n=many", "parameter `n` must be of type int, like 1000, got 'many'"),
        ("n=1.5", "parameter `n` must be of type int, like 1000, got 1.5"),
        ("n=0", "parameter `n` must be in [1, inf), got 0. Meaning: throws."),
        ("n", "`-p n` must have the form NAME=VALUE"),
    ],
)
def test_on_the_command_line(strict, parameter, words):
    assert words in strict.command("execute", "coin", "-p", parameter, code=1)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{smoke: {m: 10}}", "profiles.yml, coin.smoke: notebook 'coin' has no parameter 'm'"),
        (
            "{paper: {n: -3}}",
            "profiles.yml, coin.paper: notebook 'coin': parameter `n` must be in [1, inf), got -3",
        ),
        ("{papper: {n: 3}}", "profiles.yml, coin: no profile 'papper'. Did you mean 'paper'?"),
    ],
)
def test_in_the_profiles_whatever_profile_is_asked_for(strict, entry, words):
    (strict.project.notebooks / "profiles.yml").write_text(f"coin: {entry}\n")
    assert words in strict.command("build", code=1)


def test_in_the_notebook_itself(strict):
    strict.edit("notebooks/coin.md", "[1, inf)", "[1, ∞)")
    assert (
        "coin.md: parameter `n`: its comment ends in '[1, ∞)', which is not a domain"
        in strict.command("list", code=1)
    )


@pytest.mark.parametrize(
    ("name", "parameter", "words"),
    [
        (
            "coin",
            "eta=1e999",
            "parameter `eta` must be a finite number, a text, a truth value, none, or a list of "
            "these, got inf",
        ),
        ("coin", "eta=" + "9" * 400, "parameter `eta` must be of type float, like 0.5, got 999"),
        (
            "coin",
            "free={1,2}",
            "parameter `free` must be a finite number, a text, a truth value, none, or a list of "
            "these, got {1, 2}",
        ),
        ("coin", "free=[(1,2)]", "or a list of these, got [(1, 2)]"),
        ("coin", "free=[1e999]", "or a list of these, got [inf]"),
        ("coin", "free=1j", "or a list of these, got 1j"),
        (
            "words",
            "text=~nosuchuser/x",
            "parameter `text` = '~nosuchuser/x' is neither a file nor a Python module",
        ),
        ("words", "text=" + "x" * 300, "xxx' is neither a file nor a Python module"),
        ("words", "text=\udcff", "parameter `text` must be a finite number, a text, a truth value"),
    ],
    ids=lambda value: value[:20],
)
def test_a_value_that_no_run_can_have_is_a_sentence(strict, name, parameter, words):
    strict.edit("notebooks/coin.md", "seed = 0", "eta = 0.5\nfree = None\nseed = 0")
    assert words in strict.command("execute", name, "-p", parameter, code=1)


def test_a_parameter_that_is_given_twice_is_refused(strict):
    assert "`-p n=...` is given twice. Give it once." in strict.command(
        "execute", "coin", "-p", "n=1", "-p", "n=2", code=1
    )
