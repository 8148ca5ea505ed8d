"""A parameter that is misspelled, of the wrong type or outside of its domain: a sentence at once, no kernel."""

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
        ("m=1", "error: Notebook 'coin' has no parameter 'm'. Known parameters and defaults: n = 1000 throws [1, inf)"),
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
        ("{paper: {n: -3}}", "profiles.yml, coin.paper: notebook 'coin': parameter `n` must be in [1, inf), got -3"),
        ("{papper: {n: 3}}", "No profile 'papper'. Did you mean 'paper'?"),
    ],
)
def test_in_the_profiles_whatever_profile_is_asked_for(strict, entry, words):
    (strict.project.notebooks / "profiles.yml").write_text(f"coin: {entry}\n")
    assert words in strict.command("build", code=1)


def test_in_the_notebook_itself(strict):
    strict.edit("notebooks/coin.md", "[1, inf)", "[1, ∞)")
    assert "coin.md: parameter `n`: its comment ends in '[1, ∞)', which is no domain" in strict.command("list", code=1)
