"""Prompts and margins on a small model, whose logits are computed prompt by prompt."""

import pytest
import torch

from ntpcompanion.experiments.adaptation import pruned_recall
from ntpcompanion.experiments.adaptation.common_facts import KINDS, Kind
from ntpcompanion.experiments.adaptation.pruned_recall import (
    ABILITIES,
    RULES,
    _margins,
    prompts_of,
)
from ntpcompanion.languages.pretrained.load_models import load_causal_model
from tests.languages.opt import small_opt, small_tokenizer

FACTS = Kind("the {} is", {"film": "good", "what": "bad", "a": "not"}, ("rare",))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    small_opt(max_position_embeddings=40).save_pretrained(folder / "opt")
    small_tokenizer().save_pretrained(folder / "opt")
    (folder / "text.txt").write_text("the film is not bad " * 20, encoding="utf-8")
    return folder


@pytest.fixture
def films(monkeypatch):
    monkeypatch.setitem(KINDS, "films", FACTS)


def test_prompts_ask_for_the_fact_the_prompt_or_what_it_changes():
    names = ["France", "Germany", "Italy"]
    recall, copying, overriding = (prompts_of("capitals", names, each)[0] for each in ABILITIES)
    assert recall == ("The capital of France is", "Paris", "Berlin")
    assert copying == (
        "In this story, the capital of Zorland is Paris. So in this story, the capital of Zorland "
        "is",
        "Paris",
        "Berlin",
    )
    assert overriding == (
        "In this story, the capital of France is Berlin. So in this story, the capital of France "
        "is",
        "Berlin",
        "Paris",
    )


def test_answers_are_single_words_and_no_two_of_a_kind_are_alike():
    for kind in KINDS.values():
        answers = list(kind.answers.values())
        assert len(set(answers)) == len(answers) >= 15
        assert all(answer.isalpha() for answer in answers)
        assert not {name.lower() for name in kind.fresh} & {name.lower() for name in kind.answers}


@pytest.mark.usefixtures("films")
def test_margins_are_differences_of_logits(source):
    model, tokenizer = load_causal_model(str(source / "opt"))
    names = list(FACTS.answers)
    ids = {word: tokenizer(f" {word}", add_special_tokens=False)["input_ids"][0] for word in
           FACTS.answers.values()}  # fmt: skip
    for ability in ABILITIES:
        margins = _margins(model, tokenizer, "films", names, ability)
        for (prompt, answer, wrong), found in zip(
            prompts_of("films", names, ability), margins.T, strict=True
        ):
            tokens = torch.tensor([tokenizer(prompt, add_special_tokens=False)["input_ids"]])
            with torch.no_grad():
                logits = model(input_ids=tokens).logits[0, -1].tolist()
            right = logits.pop(ids[answer])
            logits.insert(ids[answer], float("-inf"))
            others = [logits[ids[word]] for word in ids if word != answer]
            expected = right - max(logits), right - max(others), right - logits[ids[wrong]]
            assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.usefixtures("films")
def test_every_rule_and_sparsity_is_measured(source, monkeypatch):
    plan = pruned_recall.Plan(
        source=str(source / "opt"),
        text=str(source / "text.txt"),
        rows=2,
        length=10,
        kind="films",
        facts=3,
        sums=2,
        sparsities=(0.5,),
        seed=0,
    )
    with pytest.raises(ValueError, match="answers 0 facts"):
        pruned_recall.run(plan)  # random weights know nothing
    margins = pruned_recall._margins

    def lenient(model, tokenizer, kind, names, ability):
        return margins(model, tokenizer, kind, names, ability) + 100.0

    monkeypatch.setattr(pruned_recall, "_margins", lenient)
    result = pruned_recall.run(plan)
    seen = [(each.rule, each.sparsity, each.ability) for each in result.margins]
    assert len(set(seen)) == len(seen) == len(ABILITIES) * (1 + len(RULES))
    assert result.answered == dict.fromkeys(ABILITIES, 3)
    for ability in ABILITIES:  # unpruned and by each rule another network
        margins_of = {each.all_tokens for each in result.margins if each.ability == ability}
        assert len(margins_of) == 1 + len(RULES)
    assert 0 <= result.sums <= 2
    with pytest.raises(ValueError, match="`rows` = 50"):
        pruned_recall.run(plan.model_copy(update={"rows": 50}))


def test_unknown_kinds_are_named():
    plan = pruned_recall.Plan(kind="films", facts=3, sums=1, sparsities=(0.5,), seed=0)
    with pytest.raises(ValueError, match="`kind` must be one of capitals"):
        pruned_recall.run(plan)
