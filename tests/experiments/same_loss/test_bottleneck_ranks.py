from ntpcompanion.experiments.same_loss.bottleneck_ranks import Plan, run

LANGUAGE = {"family": "hmm", "states": 3, "words": 8, "length": 4}
RIGHT = {"language": LANGUAGE, "ranks": [1, 2, 7], "contexts": 60}


def test_more_features_come_nearer_and_one_less_than_the_words_say_everything():
    result = run(Plan.from_json(RIGHT))
    fitted, fresh = ([getattr(fit, name) for fit in result.fits] for name in ("fitted", "fresh"))
    assert fitted == sorted(fitted, reverse=True)
    assert fitted[-1] < 1e-6 > fresh[-1]
    assert all(a / 3 < b < 3 * a for a, b in zip(fitted[:2], fresh[:2], strict=True))
    assert run(Plan.from_json(RIGHT)) == result
