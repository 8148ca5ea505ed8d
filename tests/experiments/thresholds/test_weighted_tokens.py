import json

from ntpcompanion.experiments.thresholds.weighted_tokens import Plan, Result, run
from ntpcompanion.linear.tables.weighted_supports import table_of_supports, weighted_supports
from ntpcompanion.randomness import stream
from tests.oracles import largest_margin

RIGHT = {"num_contexts": 6, "token_weights": [3.0, 2.0, 1.0], "support_size": 1, "draws": 4}
RIGHT |= {"seed": 0}


def test_every_draw_lies_where_enumeration_says():
    plan, expected = Plan.from_json(RIGHT), []
    for draw in range(4):
        rng = stream(0, f"6 contexts, weighted tokens, table {draw}")
        table = table_of_supports(weighted_supports([3.0, 2.0, 1.0], 1), 6, rng)
        support = table.support.toarray()
        margins = [largest_margin(table.embeddings[:, :d], support) for d in range(1, 7)]
        expected.append(next(d for d, margin in enumerate(margins, 1) if margin > 1e-7))
    found = run(plan)
    assert sorted(found.sample(6).separable_from) == sorted(expected)
    assert Result.from_json(json.loads(json.dumps(found.to_json()))) == found
