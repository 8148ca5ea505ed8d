from collections import Counter

import pytest
import torch

from ntpcompanion.languages.language import PADDING
from ntpcompanion.mlm.data.masked_sentences import batch_generator, draw_batch, mask
from ntpcompanion.mlm.data.special_tokens import MASK
from tests.mlm.cases import MIXED, SMALL, generator

SENTENCES = torch.tensor(
    [[4, 0, 1, 2, 3], [1, 2, PADDING, PADDING, PADDING], [5, PADDING, PADDING, PADDING, PADDING]]
)


def test_one_mask_hides_one_word_and_nothing_else():
    batch = mask(SENTENCES, 0.0, generator())
    assert batch.positions.shape == batch.targets.shape == (3, 1)
    assert torch.equal(batch.tokens.scatter(1, batch.positions, batch.targets), SENTENCES)
    assert (batch.tokens == MASK).sum(1).tolist() == [1, 1, 1]


def test_every_word_of_a_sentence_is_masked_equally_often():
    n = 4000
    at = mask(SENTENCES[0].expand(n, -1), 0.0, generator()).positions[:, 0]
    short = mask(SENTENCES[1].expand(n, -1), 0.0, generator()).positions[:, 0]
    for counts, words in ((Counter(at.tolist()), 5), (Counter(short.tolist()), 2)):
        assert set(counts) == set(range(words))
        p = 1 / words
        assert all(abs(count - n * p) < 5 * (n * p * (1 - p)) ** 0.5 for count in counts.values())


def test_a_share_masks_that_many_words_of_each_sentence():
    batch = mask(SENTENCES, 0.6, generator())
    assert (batch.tokens == MASK).sum(1).tolist() == [3, 1, 1]
    assert (batch.targets != PADDING).sum(1).tolist() == [3, 1, 1]
    for row in range(3):
        hidden = {
            int(t): int(w)
            for t, w in zip(batch.positions[row], batch.targets[row], strict=True)
            if w != PADDING
        }
        assert all(
            SENTENCES[row, t] == w and batch.tokens[row, t] == MASK for t, w in hidden.items()
        )
        kept = [t for t in range(5) if t not in hidden]
        assert torch.equal(batch.tokens[row, kept], SENTENCES[row, kept])


def test_the_words_masked_together_are_a_uniform_subset():
    n = 6000
    at = mask(SENTENCES[0].expand(n, -1), 0.4, generator()).positions.sort(1).values
    counts = Counter(map(tuple, at.tolist()))
    assert len(counts) == 10
    assert all(abs(count - n / 10) < 5 * (n * 0.09) ** 0.5 for count in counts.values())


def test_drawn_batches_have_the_columns_of_the_model():
    language = MIXED.build()
    batch = draw_batch(language, 50, 6, 0.0, generator())
    assert batch.tokens.shape == (50, 6)
    assert (batch.tokens[:, 4:] == PADDING).all()
    assert (
        language.log_prob(batch.tokens.scatter(1, batch.positions, batch.targets)).isfinite().all()
    )
    with pytest.raises(ValueError, match="the model has 3 `positions`"):
        draw_batch(language, 50, 3, 0.0, generator())


def test_no_two_batches_share_a_generator():
    uses = [(use, number) for use in ("training", "evaluation") for number in range(20_000)]
    seeds = {batch_generator(7, use, number).initial_seed() for use, number in uses}
    assert len(seeds) == len(uses)
    assert max(seeds) < 2**32  # torch keeps no more on a CPU


def test_batches_depend_on_seed_use_and_number_only():
    language = SMALL.build()

    def tokens(*key):
        return draw_batch(language, 64, 4, 0.0, batch_generator(*key)).tokens

    assert torch.equal(tokens(0, "training", 3), tokens(0, "training", 3))
    others = [(1, "training", 3), (0, "evaluation", 3), (0, "training", 4)]
    assert all(not torch.equal(tokens(0, "training", 3), tokens(*key)) for key in others)


def test_masking_works_on_tensors_without_numbers():
    batch = mask(torch.empty(3, 5, dtype=torch.int64, device="meta"), 0.5, generator())
    assert (batch.tokens.shape, batch.positions.shape) == ((3, 5), (3, 2))
