import numpy as np
import pytest

from ntpcompanion.experiments.geometry import proxy_certificates
from ntpcompanion.experiments.geometry.proxy_certificates import Judged
from ntpcompanion.geometry import centred_support, random_supports, solve_nuclear_svm
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

RIGHT = {"draws": 3, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(proxy_certificates, RIGHT)


def test_a_certificate_holds_where_the_proxy_is_the_solution(found):
    assert found.certified_error < 1e-7 < found.uncertified_excess
    support = random_supports(15, 10, 3, stream(0, "judged 0"))
    norm = np.linalg.svd(centred_support(support), compute_uv=False).sum()
    shorter = 1 - solve_nuclear_svm(support, tol=1e-9).norm / norm
    assert found.judged[0] == Judged(holds=shorter < 1e-7, shorter=shorter)
    assert 0 < found.language < 0.5


def test_frequencies_are_compared_with_their_errors(found):
    draws = {name: np.zeros(4, bool) for name in found.holds}
    draws |= {"10, 95, 3": np.arange(4) < 3, "10, 30, 3": np.arange(4) < 1}
    holds = {name: tuple(each.tolist()) for name, each in draws.items()}
    changed = found.model_copy(update={"holds": holds})
    percent = changed.frequency
    assert percent["mean"].to_dict() == {name: 25 * each.sum() for name, each in draws.items()}
    assert percent["sem"]["10, 95, 3"] == pytest.approx(25)  # 100 √(3/16) / √3
    assert changed.rise.mean == 25
    assert changed.rise.stderr == pytest.approx(25)  # nothing is certified with fewer contexts
    assert (changed.more_tokens.mean, changed.more_tokens.replicates) == (-25, 4)
