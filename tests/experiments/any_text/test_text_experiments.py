"""What the two experiments on a text count, against plain loops over the words."""

from collections import Counter

import numpy as np
import pytest

from ntpcompanion.experiments.any_text import text_floors, unseen_successors
from ntpcompanion.languages import count_contexts
from ntpcompanion.linear import ContextTable, implied_table
from ntpcompanion.randomness import stream
from tests.experiments.cases import check_result, check_wrong_fields

WORDS = [f"w{number}" for number in range(16)]
FLOORS = {"num_words": 60, "vocab_size": 7, "context_length": 1, "ratios": [0.3, 1.0]}
FLOORS |= {"draws": 2, "steps": 50, "seed": 0}


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    """Plans on a small text of independent words, with the frequencies of Zipf's law."""
    path = tmp_path_factory.mktemp("texts") / "text.txt"
    p = 1 / np.arange(1, 17)
    words = np.random.default_rng(3).choice(WORDS, 1200, p=p / p.sum())
    path.write_text(" ".join(words), encoding="utf-8")
    unseen = {"num_words": 1200, "vocab_size": 12, "parts": 4, "part_words": 100}
    return FLOORS | {"text": str(path)}, unseen | {"text": str(path)}


@pytest.fixture(scope="module")
def unseen(plans):
    return unseen_successors.run(unseen_successors.Plan.from_json(plans[1]))


def test_floors_are_plain_numbers_that_depend_on_the_seed(plans):
    found = text_floors.run(text_floors.Plan.from_json(plans[0]))
    check_result(text_floors, plans[0], found)


def test_floors_are_those_of_the_implied_tables(plans):
    plan = text_floors.Plan.from_json(plans[0])
    found = text_floors.run(plan)
    tokens, _ = text_floors.read_tokens(plan)
    for row in found.table.itertuples():
        rng = stream(0, f"embeddings {row.draw}")
        whole = ContextTable.from_tokens(tokens, 7, 1, found.contexts, rng)
        d = int(np.ceil(row.ratio * found.contexts))
        table = ContextTable(whole.embeddings[:, :d], whole.next_token, whole.weight)
        implied = implied_table(table)
        assert row.floor == implied.entropy
        assert row.descended >= row.floor - 1e-12
        off = ~table.support.toarray()
        assert row.added == pytest.approx((implied.support.mask & off).sum() / off.sum())
    high = found.table[found.table.ratio == 1]
    assert np.allclose(high.floor, found.entropy)
    assert (high.added == 0).all()


def test_pairs_are_counted_as_in_loops_over_the_words(plans, unseen):
    plan = unseen_successors.Plan.from_json(plans[1])
    tokens, _ = unseen_successors.read_tokens(plan)
    tokens = tokens.tolist()
    start, end = 300, 400  # the second part
    triples = list(zip(tokens, tokens[1:], tokens[2:], strict=False))
    inside = triples[start : end - 2]
    outside = [*triples[: start - 2], *triples[end:]]
    followed = {(0, a, z) for a, _, z in inside} | {(1, b, z) for _, b, z in inside}
    contexts, seen = {t[:2] for t in inside}, set(inside)
    after = {
        (a, b, z): ((0, a, z) in followed) + ((1, b, z) in followed)
        for a, b in contexts
        for z in range(12)
    }
    part = unseen.parts[1]
    assert part.contexts == len(contexts)
    met = {triple[:2] for triple in outside}
    counted = {triple for triple in after if triple[2] != 0 and triple[:2] in met}
    assert part.added.pairs + part.both.pairs == len(
        {triple for triple in counted if after[triple] == 2 and triple not in seen}
    )
    visits = Counter(triple[:2] for triple in outside)
    rest = tokens[:start] + tokens[end:]
    for group, wanted in ((part.one, 1), (part.neither, 0)):
        pairs = {triple for triple in counted if after[triple] == wanted}
        assert group.pairs == len(pairs)
        assert group.occurring == len(pairs & set(outside))
        assert group.fraction == group.occurring / group.pairs
        known = [triple for triple in outside if triple[:2] in contexts]
        assert group.held_out == pytest.approx(np.mean([triple in pairs for triple in known]))
        never = [(1 - rest.count(z) / len(rest)) ** visits[(a, b)] for a, b, z in pairs]
        assert group.expected == pytest.approx(len(never) - sum(never))
    assert part.one.implied == part.neither.implied == 0


def test_the_part_that_the_implied_table_adds(plans, unseen):
    plan = unseen_successors.Plan.from_json(plans[1])
    tokens, _ = unseen_successors.read_tokens(plan)
    counts = count_contexts(tokens[300:400], 12, [2])[0]
    rows = np.hstack([np.eye(12)[counts.contexts[:, 0]], np.eye(12)[counts.contexts[:, 1]]])
    table = ContextTable(rows, counts.distributions, counts.frequency)
    implied, part = implied_table(table), unseen.parts[1]
    assert part.floor == pytest.approx(implied.entropy)
    added = (implied.support.mask & ~table.support.toarray())[:, 1:]
    assert 0 < part.added.pairs <= added.sum()
    fractions = unseen.occurring.loc[1]
    assert fractions.added == part.added.occurring / part.added.pairs
    ratio = unseen.ratio("one")
    assert ratio.mean == pytest.approx(unseen.lift.eval("added / one").mean())
    masses = [p.added.implied / p.added.held_out for p in unseen.parts]
    assert unseen.mass_ratio.mean == pytest.approx(np.mean(masses))


def test_results_are_plain_and_a_part_that_is_too_long_is_said(plans, unseen):
    stored = unseen_successors.Result.from_json(unseen.to_json())
    assert stored == unseen
    wrong = unseen_successors.Plan.from_json(plans[1] | {"part_words": 301})
    with pytest.raises(ValueError, match=r"`part_words` must lie in 10 … 300.*got 301"):
        unseen_successors.run(wrong)
    short = unseen_successors.Plan.from_json(plans[1] | {"part_words": 10})
    with pytest.raises(ValueError, match="`part_words` = 10 is too few: in part 1 no pair of"):
        unseen_successors.run(short)
    check_wrong_fields(
        unseen_successors.Plan, plans[1], {"context_length": (3, "less than or equal to 2")}
    )
