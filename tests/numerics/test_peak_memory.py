import sys

import numpy as np
import pytest

from ntpcompanion.numerics import peak_memory as peak
from ntpcompanion.numerics.peak_memory import GRAIN, forget_peak, peak_gib


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are read from /proc")
def test_the_peak_counts_what_was_held_in_between_and_only_that():
    forget_peak()
    before = peak_gib()
    held = np.ones(2**27)  # 1 GiB
    assert held.sum() == 2**27
    del held
    assert peak_gib() - before in (2 * GRAIN, 3 * GRAIN)
    forget_peak()
    assert peak_gib() <= before + GRAIN


def test_where_the_system_does_not_tell_there_is_no_peak(monkeypatch, tmp_path):
    monkeypatch.setattr(peak, "PROCESS", tmp_path / "none")
    forget_peak()
    assert peak_gib() is None
