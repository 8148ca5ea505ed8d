"""The chapters that take a text, on texts of other scripts and on what is not text for them."""

import dataclasses
import functools
import random
import re

import nbformat
import numpy as np
import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.notebooks.profiles import read_profiles
from ntpcompanion.workflow.running import execute as runner
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.running.runs import plan
from tests.marks import rest_slow

# the parameter that says how many tokens a text has in each chapter
VOCABULARY = {
    "sparse_contexts": "vocab_size",
    "separability": "vocab_size",
    "ntp_svm": "text_vocab",
}
UNSPACED = "single characters of a script that is written without spaces"
# of sentences that were written for this: long enough for the chapters that take a text;
# (subjects, verbs, objects, separator of words, end of a sentence)
PARTS = {
    "Latin": (
        "příliš žluťoučký kůň|malá dívka|starý děd|čerstvý vítr|můj přítel",
        "pěl|četl|přinášel|viděl|měřil|ztrácel",
        "ďábelské ódy|dlouhý dopis|nové město|šťastný příběh|růžové květy|tichý večer",
        " ",
        ". ",
    ),
    "Devanagari": (
        "छोटा लड़का|मेरी बहन|बूढ़ा किसान|नया शिक्षक|वह स्त्री",
        "पढ़ता है|देखता है|लिखता है|लाता है|बेचता है|माँगता है",
        "हिन्दी की पुस्तक|ताज़ा फल|लंबा पत्र|पुराना गीत|सुंदर चित्र|मीठा पानी",
        " ",
        "। ",
    ),
    "Chinese": (
        "小孩子|我的朋友|年老的农夫|新来的老师|那个女人",
        "看见了|写下了|带来了|卖掉了|喜欢|忘记了",
        "一本旧书|红色的花|很长的信|山上的雪|安静的夜晚|远方的城市",
        "",
        "。",
    ),
    "Arabic": (
        "الوَلَدُ الصغير|صديقي القديم|المعلّم الجديد|تلك المرأة|الفلاح العجوز",
        "يقرأ|يكتب|يبيع|يحمل|يرى|ينسى",
        "كتابًا قديمًا|رسالةً طويلة|وردةً حمراء|ماءً عذبًا|مدينةً بعيدة|أغنيةً جميلة",
        " ",
        "؟ ",
    ),
}


def text_of(script: str, sentences: int = 400) -> str:
    """That many sentences, some parts more frequent than others; always the same ones."""
    rng = random.Random(script)
    *parts, separator, end = PARTS[script]
    choices = [part.split("|") for part in parts]
    order = [0, 2, 1] if script == "Devanagari" else [1, 0, 2] if script == "Arabic" else [0, 1, 2]

    def drawn(part: list[str]) -> str:
        return rng.choices(part, [1 / (k + 1) for k in range(len(part))])[0]

    return "".join(separator.join(drawn(choices[k]) for k in order) + end for _ in range(sentences))


@functools.cache
def chapters():
    """The notebooks and their profiles. To read them takes seconds."""
    known = find_notebooks(Project.find())
    return known, read_profiles(Project.find(), known)


def execute(name, folder, **given):
    """A chapter at its smoke profile; its outcome stays in the folder."""
    known, profiles = chapters()
    run = plan(Project.find(), known[name], "smoke", profiles, given)
    run = dataclasses.replace(run, folder=folder)
    (outcome,) = runner.execute([run], jobs=1, scratch=folder / "scratch")
    return outcome


def measured(name, script, folder, **given):
    """The values that a chapter measures on a text of a script, and what it says of its tokens."""
    path = folder / "my text.txt"
    path.write_text(text_of(script), encoding="utf-8")
    outcome = execute(name, folder, text=str(path), **{VOCABULARY[name]: 24} | given)
    assert outcome.status == "done", outcome.message
    # a figure of words in another script lacks glyphs, which is told
    assert all("missing from font" in note for note in outcome.notes), outcome.notes
    result = Result.load(outcome.run.results)
    page = nbformat.read(outcome.run.executed, as_version=4)
    (about,) = [
        value
        for cell in page.cells
        for output in cell.get("outputs", [])
        if output.get("metadata", {}).get("scrapbook", {}).get("name", "").endswith("about")
        for value in output.data.values()
    ]
    values = {item.claim: np.array(item.value) for item in result.measurements}
    assert all(np.isfinite(value).all() for value in values.values())
    return values, about


@pytest.mark.slow
@pytest.mark.parametrize("script", PARTS)
@pytest.mark.parametrize("name", VOCABULARY)
def test_a_chapter_on_a_text_of_every_script(name, script, tmp_path):
    values, about = measured(name, script, tmp_path)
    assert (UNSPACED in about) == (script == "Chinese")
    if name == "sparse_contexts":
        check_floors(values)
        assert "Tokens are words in lower case" in about
        assert (f"100 % are {UNSPACED}" in about) == (script == "Chinese")
    elif name == "separability":
        assert 0 < values["ntp.eq6.crossing-text"] <= 1
        assert values["ntp.prop1.limit"] < 1e-7
    else:
        assert values["ntp.def3.orthogonal"] < 1e-9


def check_floors(values):
    floor = values["ntp.appc.floor"]
    assert (np.diff(floor) <= 1e-12).all()
    assert 0 <= floor[-1] <= floor[0] < np.log(24)
    assert (np.diff(values["ntp.appc.contexts"]) >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["characters", "bytes"])
def test_contexts_of_other_tokens(tokenizer, tmp_path):
    values, about = measured("sparse_contexts", "Arabic", tmp_path, tokenizer=tokenizer)
    check_floors(values)
    assert f"Tokens are the {tokenizer} of the text" in about


@pytest.mark.parametrize("name", rest_slow(VOCABULARY, ["separability"]))
def test_a_text_that_is_too_short_is_a_sentence_of_the_first_cells(name, tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes(b"to be or not " * 12 + b"to be")
    outcome = execute(name, tmp_path, text=str(path))
    assert outcome.status == "failed"
    sentence = r"`text` = .* has 50 words|the 50 words that are read are 4 different"
    where = rf"^Notebook '{name}'.*, code cell 3: ValueError: "
    assert re.search(f"{where}.*({sentence})", outcome.message)
