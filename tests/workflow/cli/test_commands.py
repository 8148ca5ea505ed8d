"""The command line, called in this process; kernels only where a command is about running them."""

import pytest
from typer.testing import CliRunner

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.cli import commands


@pytest.fixture
def run(toy):
    return toy.command


def test_list_says_what_is_up_to_date_and_what_is_not(run, toy):
    toy.edit("notebooks/coin.md", "# A coin\n", "# A coin [/or two]\n")
    assert run("list").count("never run") == 2
    run("execute")
    toy.edit("toypkg/half.py", "n / TWO", "n / TWO + 0")
    shown = run("list")
    assert shown.index("stale") < shown.index("up to date")
    assert "A coin [/or" in shown
    assert "coin (book): package source: half.py changed" in run("why", "coin")
    assert "words (book) is up to date: key" in run("why", "words")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "--update", "-p", "seed=1"], "`--update` takes no `-p`"),
        (["execute", "coyn"], "No notebook 'coyn'. Did you mean 'coin'? Known: coin, words."),
        (["execute", "--profile", "bock"], "No profile 'bock'. Did you mean 'book'?"),
        (["record", "x"], "No record 'x'. Known: none."),
    ],
)
def test_mistakes_are_sentences(run, arguments, words):
    assert words in run(*arguments, code=1)


def test_a_command_finds_its_project_from_below_and_says_when_there_is_none(
    toy, tmp_path, monkeypatch
):
    monkeypatch.chdir(toy.project.book / "records")
    assert Project.find().root == toy.project.root
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(commands.app, ["list"])
    assert result.exit_code == 1
    assert "Change into the checkout." in " ".join(result.output.split())


def test_the_command_of_another_checkout_works_on_nothing(run, toy):
    (toy.project.root / "ntpcompanion").mkdir()
    for arguments in (
        ["list"],
        ["execute"],
        ["build"],
        ["check"],
        ["why", "coin"],
        ["record", "x"],
    ):
        assert "has an ntpcompanion of its own, and numbers of the one would be kept as" in run(
            *arguments, code=1
        )


def test_overrides_say_where_the_outcome_is(run, toy):
    path = toy.runs("smoke", ["coin"], {"n": 4})[0].executed
    shown = run("execute", "coin", "--profile", "smoke", "-p", "n=4")
    assert path.name in shown
    assert path.is_file()
    assert "not measured" in shown, "the book was not run"


def test_lab_opens_the_notebooks_of_the_project(run, toy, monkeypatch):
    started = []
    monkeypatch.setattr(commands, "start_lab", lambda *given: started.append(given) or 3)
    run("lab", "--no-browser", "--port", "9000", code=3)
    assert started == [(toy.project, ["--port=9000", "--no-browser"])]


def test_a_log_says_what_runs_and_what_has_ended(run, instant):
    words = run("execute")
    begun, ended = (
        words.index("coin (book): running, 2 code cells"),
        words.index("coin (book): executed"),
    )
    assert begun < ended < words.index("2 notebooks in")
    assert words.count("words (book): executed") == 1
    assert "running" not in run("execute"), "what is up to date does not run"
