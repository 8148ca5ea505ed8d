from ntpcompanion.workflow.base.files import canonical_json
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.running.freshness import input_files, key_parts
from ntpcompanion.workflow.running.runs import plan
from tests.refusing import refused


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


def test_a_file_that_no_input_names_is_refused_when_the_run_is_planned(toy):
    words = find_notebooks(toy.project)["words"]
    assert plan(toy.project, words, "book", {}).parameters["text"] == "words.txt"
    toy.edit("notebooks/words.md", "ntp: {inputs: [text]}\n", "")
    unlisted = find_notebooks(toy.project)["words"]
    with refused(
        r"'words': parameter `text` = 'words.txt' names a file, but is not an input. Add `t"
    ):
        plan(toy.project, unlisted, "book", {})
    for text in ("", "no.txt", "book", "x" * 5000, "~nosuchuser/x"):
        assert plan(toy.project, unlisted, "book", {}, {"text": text}).parameters["text"] == text
    toy.edit("notebooks/words.md", 'text = "words.txt"', 'text = ["words.txt", "no.txt"]')
    with refused("of its own, and add it to the front matter"):
        plan(toy.project, find_notebooks(toy.project)["words"], "book", {})


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


def test_an_input_may_take_a_word_in_place_of_a_file(toy, tmp_path, monkeypatch):
    toy.edit("notebooks/words.md", "inputs: [text]", "inputs: [text, way]")
    toy.edit("notebooks/words.md", "seed = 0", 'way = "words"  # {words, FILE}\nseed = 0')
    monkeypatch.chdir(tmp_path)
    for name in ("words", "mine.json"):
        (tmp_path / name).write_text("a file of the user's folder")
    files = {}
    for way in ("words", "mine.json"):
        (run,) = toy.runs(names=["words"], overrides={"way": way})
        files[way] = input_files(run.project, run.notebook, run.parameters)
    root = toy.project.root
    assert files["words"] == {"text": root / "words.txt"}, "the word is not a file"
    assert files["mine.json"] == {"text": root / "words.txt", "way": tmp_path / "mine.json"}
    (run,) = toy.runs(names=["words"], overrides={"way": "wrods"})
    with refused(r"`way` = 'wrods' is none of words, and no file\. Did you mean 'words'\?"):
        input_files(run.project, run.notebook, run.parameters)
