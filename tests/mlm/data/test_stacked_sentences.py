import pytest
import torch

from ntpcompanion.mlm.data.special_tokens import MASK
from ntpcompanion.mlm.data.stacked_sentences import STEPS_AT_ONCE, draw_steps
from tests.mlm.cases import MIXED, SMALL

HMM = SMALL.build()


def drawn(seeds, *, labels="drawn", name="test", chunk=0, language=HMM):
    return draw_steps(language, seeds, name, chunk, batch_size=5, positions=4, labels=labels)


def equal(first, second):
    pairs = (
        (first.tokens, second.tokens),
        (first.positions, second.positions),
        (first.targets, second.targets),
    )
    return all(torch.equal(a, b) for a, b in pairs)


def test_the_sentences_of_a_run_do_not_depend_on_the_runs_beside_it():
    together, alone = drawn([3, 8, 1]), drawn([8])
    assert len(together) == STEPS_AT_ONCE
    for batch, own in zip(together, alone, strict=True):
        assert equal(batch.of_runs(torch.tensor([1])), own)


def test_seed_name_and_chunk_decide_the_sentences():
    first = drawn([0])[0]
    assert equal(first, drawn([0])[0])
    for other in (drawn([1])[0], drawn([0], name="other")[0], drawn([0], chunk=1)[0]):
        assert not torch.equal(first.tokens, other.tokens)


def test_drawn_targets_are_the_hidden_words():
    for batch in drawn([0, 1])[:4]:
        assert batch.targets.shape == (2, 5, 6)
        hidden = batch.targets.argmax(-1, keepdim=True)
        whole = batch.tokens.scatter(2, batch.positions, hidden)
        assert HMM.log_prob(whole.flatten(0, 1)).isfinite().all()
        assert torch.equal(batch.targets.sum(-1), torch.ones(2, 5))
        assert (batch.tokens.gather(2, batch.positions) == MASK).all()


def test_exact_targets_are_conditional_distributions():
    """Against Pr(x₁ … v … x_T) for every word v."""
    batch = drawn([0], labels="exact")[0]
    tokens, at = batch.tokens[0], batch.positions[0]
    filled = [tokens.scatter(1, at, torch.full_like(at, v)) for v in range(6)]
    joint = torch.stack([HMM.log_prob(sentence) for sentence in filled], 1)
    torch.testing.assert_close(batch.targets[0], joint.softmax(1).float())


def test_both_kinds_of_labels_have_the_same_sentences():
    assert torch.equal(drawn([0])[0].tokens, drawn([0], labels="exact")[0].tokens)


def test_sentences_of_several_lengths_are_padded():
    batch = drawn([0], labels="exact", language=MIXED.build())[0]
    assert (batch.tokens == -1).any()
    torch.testing.assert_close(batch.targets.sum(-1), torch.ones(1, 5))


def test_labels_of_no_kind_and_no_runs_are_refused():
    with pytest.raises(ValueError, match=r"`labels` must be .*'hard'"):
        drawn([0], labels="hard")
    with pytest.raises(ValueError, match="`seeds` must"):
        drawn([])
