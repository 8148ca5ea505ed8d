"""A project whose two notebooks were run, and what became of their numbers."""

from ntpcompanion.workflow.checking.baselines import updated
from ntpcompanion.workflow.checking.check_report import make_report
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from tests.workflow.checking.test_baselines import result


def report_of(toy, now, before=None):
    """The report of measured values `now` (by notebook, by claim) where `before` are stored."""
    stored = updated({}, {name: result(name, **values) for name, values in (before or now).items()})
    results = {name: result(name, **values) for name, values in now.items()}
    claims = load_claims(toy.project)
    judged = judged_claims(claims, [i for r in results.values() for i in r.measurements], "book")
    return make_report(toy.project, results, judged, stored, "book")


AS_STORED = {"coin": {"toy_half": 0.5, "toy_powers": [1.0, 2.0, 4.0]}, "words": {"toy_words": 3.0}}
HALF_MOVED = {**AS_STORED, "coin": {**AS_STORED["coin"], "toy_half": 0.52}}
HALF_MISSING = {**AS_STORED, "coin": {"toy_powers": [1.0, 2.0, 4.0]}}
