from ntpcompanion.workflow.claims.predicate import Slack


def test_an_inequality_at_the_ends_of_its_interval():
    assert [Slack(1.0, 1.0).holds(end) for end in ("low", "high")] == [True, True]
    assert [Slack(1.0, 1.0, strict=True).holds(end) for end in ("low", "high")] == [False, True]
    assert [Slack(-1.0, 0.5).holds(end) for end in ("low", "high")] == [False, False]


def test_an_interval_supports_an_inequality_or_refutes_it_or_neither():
    inside, across, outside = Slack(2.0, 1.0), Slack(0.5, 1.0), Slack(-2.0, 1.0)
    assert [s.supports for s in (inside, across, outside)] == [True, False, False]
    assert [s.refutes for s in (inside, across, outside)] == [False, False, True]
