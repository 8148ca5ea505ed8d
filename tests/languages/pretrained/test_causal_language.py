import functools
import itertools
import math

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from ntpcompanion.languages.language import (
    PADDING,
    Language,
    estimate_entropy_floor,
    exact_entropy_floor,
)
from ntpcompanion.languages.pretrained.causal_language import CausalLanguage
from tests.languages.opt import generator, probability, small_gpt2, small_opt
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)

opt = functools.cache(small_opt)


def language(length=3, end=None, words=(7, 4, 9), chunk=256, model=None):
    return CausalLanguage(model or opt(), list(words), 2, length, end, chunk)


def sentences(length, end, words):
    """All of them, and their probabilities by the oracle."""
    lengths = [length] if end is None else range(1, length + 1)
    strings = [s for n in lengths for s in itertools.product(range(len(words)), repeat=n)]
    return {s: probability(opt(), s, words, 2, length, end) for s in strings}


def padded(strings):
    return pad_sequence([torch.tensor(s) for s in strings], batch_first=True, padding_value=PADDING)


cases = pytest.mark.parametrize(
    ("length", "end", "words", "chunk"),
    [
        (1, 2, (7, 4, 9), 2),
        (2, 2, (5, 11), 5),
        (3, None, (7, 4, 9), 7),
        (3, 2, (7, 4, 9), 50),
        (3, 8, (2, 3), 3),
        (4, 2, (7, 0), 4),
        (6, None, (6, 3), 100),
    ],
)


@cases
def test_everything_equals_enumeration(length, end, words, chunk):
    total, what = sentences(length, end, words), language(length, end, words, chunk)
    assert math.fsum(total.values()) == pytest.approx(1)
    tokens = padded(total)
    assert what.log_prob(tokens).exp().tolist() == pytest.approx(list(total.values()), rel=1e-10)
    for string, conditional in zip(total, what.masked_conditional(tokens), strict=True):
        for t in range(len(string)):
            filled = np.array(
                [total[(*string[:t], v, *string[t + 1 :])] for v in range(len(words))]
            )
            assert conditional[t].numpy() == pytest.approx(filled / filled.sum(), abs=1e-12)
        assert not conditional[len(string) :].any()


@cases
def test_frequencies_are_within_five_standard_errors(length, end, words, chunk):
    total, n = sentences(length, end, words), 4000
    tokens = language(length, end, words).sample(n, generator())
    assert tokens.shape == (n, length)
    strings = padded(total)
    seen = (tokens[:, None, : strings.shape[1]] == strings).all(-1).double().mean(0).numpy()
    assert seen.sum() == pytest.approx(1)
    distribution = np.array(list(total.values()))
    assert (
        np.abs(seen - distribution) <= 5 * np.sqrt(distribution * (1 - distribution) / n) + 1e-12
    ).all()


def test_it_is_a_language_without_latent_variables():
    assert isinstance(language(), Language)
    assert language().vocab_size == 3
    with pytest.raises(
        ValueError,
        match="`latent_posterior`",
    ):
        language().latent_posterior(torch.tensor([[0]]))


def test_another_model_and_a_tensor_of_words():
    what = CausalLanguage(small_gpt2(), torch.tensor([3, 8], dtype=torch.int32), 2, 3)
    strings = list(itertools.product(range(2), repeat=3))
    distribution = torch.tensor(
        [probability(what.model, s, [3, 8], 2, 3) for s in strings], dtype=torch.float64
    )
    assert torch.allclose(what.log_prob(torch.tensor(strings)), distribution.log(), atol=1e-10)
    middle = distribution.view(2, 2, 2) / distribution.view(2, 2, 2).sum(1, keepdim=True)
    assert torch.allclose(
        what.masked_conditional(torch.tensor(strings))[:, 1].view(2, 2, 2, 2)[:, 0].mT,
        middle,
        atol=1e-10,
    )


def test_without_an_end_shorter_and_longer_sentences_are_first_words():
    mixed = [(0, 1, 2, 1), (2,), (1, 1)]
    conditional, score = (
        language(3).masked_conditional(padded(mixed)),
        language(3).log_prob(padded(mixed)),
    )
    for row, string in enumerate(mixed):
        alone = language(len(string))
        assert float(score[row]) == pytest.approx(
            float(alone.log_prob(torch.tensor([string]))), abs=1e-10
        )
        assert torch.allclose(
            conditional[row, : len(string)],
            alone.masked_conditional(torch.tensor([string]))[0],
            atol=1e-10,
        )
        assert not conditional[row, len(string) :].any()


def test_memory_is_that_of_a_chunk_and_only_what_changed_is_read():
    what, shapes = language(5, chunk=5), []
    what.model.base_model.register_forward_pre_hook(
        lambda _, __, given: shapes.append(given["input_ids"].shape), with_kwargs=True
    )
    tokens = what.sample(2, generator())
    shapes.clear()
    what.masked_conditional(tokens)
    assert max(rows for rows, _ in shapes) == 5
    strings, log_prob = 2 * 3 * 5 * 4 // 2, 2 * 5
    starts = sum(3 * (t + 1) for t in range(5))  # 6 strings are two chunks; one sentence is in both
    assert sum(rows * n for rows, n in shapes) == strings + log_prob + starts


def test_chunks_change_nothing():
    tokens = language(4, 2).sample(9, generator())
    assert torch.equal(tokens, language(4, 2, chunk=2).sample(9, generator()))
    assert torch.allclose(
        language(4, 2).masked_conditional(tokens),
        language(4, 2, chunk=2).masked_conditional(tokens),
        atol=1e-13,
    )


def test_single_precision_is_close_to_double():
    single, tokens = (
        language(3, 2, model=small_opt().float()),
        language(3, 2).sample(20, generator()),
    )
    conditional = single.masked_conditional(tokens)
    assert conditional.dtype == single.log_prob(tokens).dtype == torch.float64
    assert torch.allclose(conditional, language(3, 2).masked_conditional(tokens), atol=1e-5)


def test_the_generator_decides():
    first, again, other = (language().sample(50, generator(seed)) for seed in (7, 7, 8))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert language().sample(0, generator()).shape == (0, 3)


def test_a_batch_may_be_empty():
    none = torch.zeros(0, 3, dtype=torch.int64)
    assert language().log_prob(none).shape == (0,)
    assert language(2, 2).masked_conditional(none).shape == (0, 3, 3)


def test_a_sentence_that_should_have_ended_is_impossible():
    tokens = torch.tensor([[0, 1, PADDING], [0, 1, 2]])
    assert language(2, 2).log_prob(tokens).isfinite().tolist() == [True, False]
    with pytest.raises(
        ValueError, match=r"`tokens`: row 1, \[0, 1, 2\], has probability 0 in this language"
    ):
        language(2, 2).masked_conditional(tokens)


def test_more_words_than_positions_are_refused():
    six = torch.zeros(1, 6, dtype=torch.int64)
    assert language().log_prob(six).isfinite().all()
    with pytest.raises(
        ValueError,
        match=r"`tokens` has 7 words a sentence, and the model positions for 6\. Cut them",
    ):
        language().log_prob(torch.zeros(1, 7, dtype=torch.int64))


@pytest.mark.parametrize("end", [None, 2])
def test_its_floor_is_the_expected_surprise(end):
    what, total = language(3, end), sentences(3, end, (7, 4, 9))
    surprise = 0.0
    for string, p in total.items():
        for t in range(len(string)):
            rest = math.fsum(total[(*string[:t], v, *string[t + 1 :])] for v in range(3))
            surprise += p * math.log(rest / p) / len(string)
    exact = exact_entropy_floor(what, [3] if end is None else [1, 2, 3])
    assert exact.per_sentence == pytest.approx(surprise, abs=1e-10)
    floor = estimate_entropy_floor(what, 400, generator())
    assert abs(floor.per_sentence - surprise) < 5 * floor.per_sentence_stderr
    assert 0 < floor.per_sentence_stderr < 0.1


def test_frequencies_of_the_first_word_are_its_law():
    shares = language(1, 2).word_frequencies(3, generator())
    distribution = [probability(opt(), (i,), (7, 4, 9), 2, 1) for i in range(3)]
    assert shares.tolist() == pytest.approx(distribution, abs=1e-12)


def test_word_frequencies_are_shares_of_all_words():
    """Of a language where words after the end, had they counted, would shift them by .04."""
    total, n = sentences(3, 7, (0, 9)), 20000
    counts = np.array(
        [math.fsum(p * string.count(i) for string, p in total.items()) for i in range(2)]
    )
    shares = language(3, 7, (0, 9), chunk=4096).word_frequencies(n, generator())
    assert shares.numpy() == pytest.approx(counts / counts.sum(), abs=5 * 0.5 / n**0.5)
    assert float(shares.sum()) == pytest.approx(1)
    with pytest.raises(ValueError, match="`sentences` must be at least 1, got 0"):
        language().word_frequencies(0, generator())


def test_it_stays_where_it_is():
    assert language().device == torch.device("cpu")
    what = language()
    assert what.to("cpu") is what


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_copy_on_the_gpu_says_the_same():
    there, tokens = language(3, 2).to("cuda"), language(3, 2).sample(20, generator())
    assert there.device.type == "cuda"
    assert torch.equal(there.sample(20, generator()), tokens)
    assert torch.allclose(
        there.masked_conditional(tokens), language(3, 2).masked_conditional(tokens), atol=1e-10
    )
    assert there.log_prob(tokens.cuda()).device.type == "cuda"
