import json

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.running.freshness import key_parts
from ntpcompanion.workflow.running.runs import load_executed, plan, unused_defaults


def test_a_path_on_the_command_line_is_one_of_the_users_folder(toy, tmp_path, monkeypatch):
    here = tmp_path / "elsewhere"
    here.mkdir()
    for name in ("mine.txt", "words.txt"):
        (here / name).write_text("four words of mine")
    monkeypatch.chdir(here)
    words = find_notebooks(toy.project)["words"]
    settled = {
        text: plan(toy.project, words, "book", {}, {"text": text}).parameters["text"]
        for text in ("mine.txt", "words.txt", "json.decoder")
    }
    assert settled == {
        "mine.txt": str(here / "mine.txt"),
        "words.txt": "words.txt",
        "json.decoder": "json.decoder",
    }


@pytest.mark.parametrize(
    "damage", [lambda node: node["cells"][0].pop("outputs"), lambda node: node.pop("cells")]
)
def test_an_executed_notebook_that_is_no_notebook_is_damaged(instant, damage):
    run = instant.runs(names=["coin"])[0]
    instant.execute(names=["coin"])
    assert load_executed(run.page).cells[0].cell_type == "markdown"
    node = json.loads(run.page.read_text())
    node["cells"].pop(0)
    damage(node)
    run.page.write_text(json.dumps(node))
    with pytest.raises(
        WorkflowError, match=r"coin.ipynb is missing or damaged \(.*Error\): run the notebook again"
    ):
        load_executed(run.page)


def test_only_an_edited_default_that_is_overruled_is_said(instant):
    smoke, book = (instant.runs(profile, ["coin"])[0] for profile in ("smoke", "book"))
    assert unused_defaults(smoke) == [], "never run"
    instant.execute("smoke", ["coin"])
    instant.execute("book", ["coin"])
    assert unused_defaults(smoke) == []
    instant.edit("notebooks/coin.md", "n = 1000", "n = 2000")
    instant.edit("notebooks/coin.md", "seed = 0", "seed = 1")
    smoke, book = (instant.runs(profile, ["coin"])[0] for profile in ("smoke", "book"))
    assert unused_defaults(smoke) == [
        "the notebook's n = 2000 is not used at profile smoke: notebooks/profiles.yml says 10."
    ]
    assert unused_defaults(book) == [], "it is used there"


def test_a_file_that_no_input_names_is_refused_when_the_run_is_planned(toy):
    words = find_notebooks(toy.project)["words"]
    assert plan(toy.project, words, "book", {}).parameters["text"] == "words.txt"
    toy.edit("notebooks/words.md", "ntp: {inputs: [text]}\n", "")
    unlisted = find_notebooks(toy.project)["words"]
    with pytest.raises(
        WorkflowError,
        match=r"'words': parameter `text` = 'words.txt' names a file, but is no input. Add `text`",
    ):
        plan(toy.project, unlisted, "book", {})
    for text in ("", "no.txt", "book", "x" * 5000, "~nosuchuser/x"):
        assert plan(toy.project, unlisted, "book", {}, {"text": text}).parameters["text"] == text


def test_a_whole_number_given_for_a_float_is_the_same_variant_and_the_same_key(toy):
    toy.edit("notebooks/coin.md", "seed = 0", "eta = 0.5\nsteps = [0.5]\nseed = 0")
    whole, floats = (
        toy.runs("smoke", ["coin"], overrides)[0]
        for overrides in ({"eta": 1, "steps": [2]}, {"eta": 1.0, "steps": [2.0]})
    )
    assert whole.stem == floats.stem
    parts = [
        canonical_json(key_parts(run.project, run.notebook, run.parameters))
        for run in (whole, floats)
    ]
    assert parts[0] == parts[1]
    assert '"eta":1.0,"n":10,"seed":0,"steps":[2.0]' in parts[0]
