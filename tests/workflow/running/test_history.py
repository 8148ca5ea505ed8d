import json
import re
from dataclasses import replace

import pytest

from ntpcompanion.workflow.base.files import read_sealed
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.running import history
from ntpcompanion.workflow.running.history import append_entry, entry_of
from tests.refusing import refused
from tests.workflow.checking.test_baselines import result


def entry(toy, machine="a processor", commit="abc", profile="book", **values):
    made = replace(result("coin", **values), profile=profile)
    made.hardware.update({"processor": machine, "cores": 2})
    made.versions.update({"python": "3.11.7"})
    return entry_of({"coin": made}, load_claims(toy.project), profile, commit)


def stored(project):
    return [json.loads(path.read_text()) for path in (project.book / "history").iterdir()]


def test_what_an_entry_holds_with_a_line_for_each_claim(toy):
    item = Measurement.of("toy.half", 0.5, stderr=0.01, replicates=9)
    path = append_entry(toy.project, entry(toy, toy_half=item, toy_powers=[2.0, 1.0]))
    assert re.fullmatch(r"2026-01-01-book-[0-9a-f]{8}\.json", path.name)
    data = read_sealed(path)
    assert (data["commit"], data["machine"]) == ("abc", "a processor, 2 cores")
    assert data["versions"] == {"python": "3.11.7"}
    assert data["claims"]["toy.powers"] == [[2.0, 1.0], 0.0, None, "refuted"]
    assert '\n "toy.half": [0.5,0.01,9,"supported"],\n' in path.read_text()


def test_the_same_values_are_kept_once_and_other_builds_beside_them(toy):
    assert append_entry(toy.project, entry(toy, toy_half=0.5))
    assert append_entry(toy.project, entry(toy, toy_half=0.5)) is None
    assert append_entry(toy.project, entry(toy, toy_half=0.51))
    assert append_entry(toy.project, entry(toy, toy_half=0.5, commit="def"))
    assert append_entry(toy.project, entry(toy, toy_half=0.5, machine="another"))
    assert append_entry(toy.project, entry(toy, toy_half=0.5, profile="paper"))
    assert len(stored(toy.project)) == 5
    later = {**entry(toy, toy_half=0.5), "date": "2027-01-01T00:00:00+00:00"}
    assert append_entry(toy.project, later) is None, "a rerun without change adds nothing"


def test_an_entry_is_of_one_machine(toy):
    one, other = result("coin", toy_half=0.5), result("words", toy_words=3.0)
    one.hardware.update({"processor": "one", "cores": 2})
    other.hardware.update({"processor": "other", "cores": 2})
    with refused("stored runs are of 2 machines and 1 sets"):
        entry_of({"coin": one, "words": other}, load_claims(toy.project), "book", "")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: text[: len(text) // 2], "cannot be read as JSON"),
        (lambda text: text.replace("0.5", "0.6"), "does not match its own checksum"),
    ],
)
def test_a_damaged_file_is_named_and_nothing_is_added(toy, spoil, words):
    path = append_entry(toy.project, entry(toy, toy_half=0.5))
    path.write_text(spoil(path.read_text()))
    before = path.read_bytes()
    with refused(f"{path.name}.*{words}"):
        append_entry(toy.project, entry(toy, toy_half=0.7))
    assert [p.read_bytes() for p in path.parent.iterdir()] == [before]


def test_the_commit_is_marked_where_a_file_differs(toy, repository):
    assert history.present_commit(toy.project) == "", "no repository"
    git = repository(toy.project.root, "notebooks", "_config.yml")
    commit = git("rev-parse", "--short=12", "HEAD")
    assert history.present_commit(toy.project) == commit
    toy.edit("notebooks/coin.md", "Prose", "More prose")
    assert history.present_commit(toy.project) == f"{commit}+"


def test_the_commit_of_another_repository_is_never_named(toy, repository, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "_config.yml").touch()
    other = repository(tmp_path / "other", ".")
    for name, value in {
        "GIT_DIR": ".git",
        "GIT_WORK_TREE": ".",
        "GIT_INDEX_FILE": ".git/index",
        "GIT_OBJECT_DIRECTORY": ".git/objects",
    }.items():
        monkeypatch.setenv(name, str(tmp_path / "other" / value))
    assert history.present_commit(toy.project) == ""
    own = repository(toy.project.root, "notebooks", "_config.yml")
    commit = own("rev-parse", "HEAD")
    assert commit != other("rev-parse", "HEAD")
    assert history.present_commit(toy.project) == commit[:12]


def test_a_repository_above_that_does_not_hold_the_project_is_not_named(toy, repository):
    repository(toy.project.root.parent)
    assert history.present_commit(toy.project) == ""


def test_the_command_appends_once_and_refuses_smoke(instant):
    instant.execute()
    assert "Wrote" in instant.command("history")
    assert "holds these values already" in instant.command("history")
    assert len(stored(instant.project)) == 1
    instant.execute("smoke")
    said = instant.command("history", "--profile", "smoke", code=1)
    assert "numbers are not results" in said
