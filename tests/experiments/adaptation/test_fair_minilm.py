"""Embeddings that are made here: what a map does to them is known."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ntpcompanion.experiments.adaptation import fair_minilm
from ntpcompanion.experiments.adaptation.fair_effects import MAPS, FairEffects
from ntpcompanion.experiments.adaptation.fair_minilm import Split, Triples
from ntpcompanion.experiments.adaptation.paired_sentences import (
    BLOCK,
    CONTENTS,
    FRAMES,
    block_sentences,
)
from ntpcompanion.languages.pretrained.needed import needed
from ntpcompanion.languages.pretrained.sentence_encoder import (
    embed_sentences,
    load_sentence_encoder,
)
from ntpcompanion.recorded import Run
from tests.languages.opt import TOKENS, scrambled, small_tokenizer

DIM = 12


def triples(seed, shift=(2.0, 1.0), asymmetry=1.0):
    """Twelve contents in two frames; both variants are `shift` apart along an axis of the frame and
    their middle is `asymmetry` from the neutral text, along the first axis.
    """
    rng = np.random.default_rng(seed)
    contents, frames = np.repeat(np.arange(12), 2), np.tile([0, 1], 12)
    neutral = np.repeat(rng.standard_normal((12, DIM)), 2, axis=0)
    neutral[:, :2] = 0
    middle, half = neutral.copy(), np.zeros_like(neutral)
    middle[:, 0] += asymmetry
    half[np.arange(24), frames] = np.array(shift)[frames] / 2
    return Triples(middle + half, middle - half, neutral, contents, frames)


def plan(training=(0,), held_out=1):
    split = Split(training=training, held_out=held_out)
    return fair_minilm.Plan(split=split, directions=(1, 2))


def measured(shift):
    result = fair_minilm.compare_maps(plan(), triples(0, shift), triples(1, shift))
    return {each.method: each for each in result.measured}, result


def test_antipodal_variants_have_no_gap_and_are_told_apart():
    tested = triples(1, asymmetry=0.0)
    result = fair_minilm.compare_maps(plan(), triples(0, asymmetry=0.0), tested)
    by_map = {each.method: each for each in result.measured}
    assert by_map["none"].gap == pytest.approx(0, abs=1e-12)
    assert by_map["equal"].shift == by_map["none"].shift
    assert by_map["equal"].probe == 1


def test_a_shift_along_the_asymmetry_is_lost_by_every_map():
    by_map, result = measured((2.0, 1e-6))
    assert by_map["none"].gap > 0.1
    for name in ("equal", "mean", "1"):
        assert by_map[name].gap == pytest.approx(0, abs=0.01)
        assert by_map[name].shift == pytest.approx(0, abs=0.01)
        assert by_map[name].neighbours == 1
    assert result.smallest == pytest.approx(0, abs=0.01)
    assert result.content_along == pytest.approx(0, abs=1e-9)
    assert result.frames[0].left == pytest.approx(0, abs=0.01)


def test_a_mean_shift_hides_what_frames_have_of_their_own():
    by_map, result = measured((2.0, 2.0))
    assert result.common == pytest.approx(0.5)
    assert by_map["mean"].shift == pytest.approx(by_map["none"].shift / 2, rel=0.01)
    assert by_map["2"].shift == pytest.approx(0, abs=1e-12)


def test_a_probe_is_tested_on_other_contents():
    rng = np.random.default_rng(0)
    contents = np.repeat(np.arange(4), 50)
    first = rng.standard_normal((200, 2))
    second = first.copy()
    upper = contents >= 2
    first[:, 0] += np.where(upper, -9, 9)  # the sign turns between training and test
    second[:, 0] -= np.where(upper, -9, 9)
    accuracy = fair_minilm.probe_accuracy(LogisticRegression(), first, second, contents)
    assert accuracy < 0.1


def test_neighbours_are_of_other_contents():
    contents = np.repeat(np.arange(8), 2)
    texts = contents[:, None] + np.tile([0, 0.1], 8)[:, None]
    assert not (contents[fair_minilm.nearest(texts, contents)] == contents[:, None]).any()
    assert set(fair_minilm.nearest(texts, contents)[0]) == {2, 3, 4, 5, 6}


def test_blocks_have_contents_of_their_own():
    blocks = [block_sentences(block) for block in range(len(CONTENTS) // BLOCK)]
    assert len({content for block in blocks for content in block.contents}) == len(set(CONTENTS))
    assert {len(block.first) for block in blocks} == {BLOCK * len(FRAMES)}
    one = blocks[3]
    words = [words for _, words in FRAMES]
    for row in (0, 7, 119):
        male, female, neutral = words[one.frames[row]]
        assert one.first[row].replace(male, neutral) == one.neutral[row]
        assert one.second[row].replace(female, neutral) == one.neutral[row]
        assert CONTENTS[one.contents[row]] in one.first[row]


def test_blocks_in_both_parts_are_refused():
    with pytest.raises(ValueError, match="`held_out` = 1 must not be a block of `training`"):
        fair_minilm.run(plan((0, 1), 1))


def test_sentences_are_read_by_an_encoder(tmp_path):
    transformers, variants = needed("transformers"), [block_sentences(block) for block in (0, 1)]
    texts = [text for each in variants for variant in each[:3] for text in variant]
    words = {word for text in texts for word in text.split()}
    vocabulary = [*TOKENS, *sorted(words)]  # else variants are one and the same unknown word
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=len(vocabulary), intermediate_size=8, **sizes)
    scrambled(transformers.BertModel(config)).float().save_pretrained(tmp_path)
    small_tokenizer(vocabulary).save_pretrained(tmp_path)
    result = fair_minilm.run(plan().model_copy(update={"source": str(tmp_path)}))
    assert [each.method for each in result.measured] == ["none", "equal", "mean", "1", "2"]
    assert len(result.frames) == len(FRAMES)
    encoder = load_sentence_encoder(str(tmp_path))
    first, second, neutral = (embed_sentences(*encoder, each) for each in variants[1][:3])
    distances = [((each - neutral) ** 2).sum(1) for each in (first, second)]
    apart = ((neutral[:, None] - neutral) ** 2).sum(-1).mean()
    gap = np.abs(distances[0] - distances[1]).mean() / apart
    assert gap > 0.01
    assert result.measured[0].gap == pytest.approx(gap, rel=1e-5)


def test_effects_are_means_over_blocks():
    runs = []
    for held_out in (1, 2, 3):
        _, result = measured((2.0, float(held_out)))
        for training in ((0,), (4, 5)):
            runs.append(Run(plan(training, held_out), result))
    effects = FairEffects(runs)
    assert effects.mean("gap", "none").mean == 1
    assert effects.lead("shift", "none", "2").mean == pytest.approx(1)
    assert effects.split_mean("smallest", 2).replicates == 3
    assert effects.split_mean("excess").mean == pytest.approx(
        np.mean([f.left - f.predicted for run in runs[::2] for f in run.result.frames])
    )
    table = effects.summary(["gap", "probe"], 1)
    assert table["map"].tolist() == [MAPS[name] for name in ("none", "equal", "mean", "1", "2")]
