"""A linear probe of 100,000 examples × 512 features with 100 classes, 100 epochs, on two threads:
at most 60 seconds.
"""

import time

import pytest
import torch

from ntpcompanion.mlm.downstream import Examples
from ntpcompanion.mlm.probe import ProbePlan, linear_probe
from ntpcompanion.workflow.base.provenance import hardware, hardware_line


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.benchmark
@pytest.mark.usefixtures("two_threads")
def test_a_probe_of_the_paper_takes_at_most_a_minute():
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(101_000, 512, generator=generator)
    labels = (features @ torch.randn(512, 100, generator=generator)).argmax(1)
    train, test = (
        Examples(features[rows], labels[rows], 100)
        for rows in (slice(100_000), slice(100_000, None))
    )
    began, worked = time.perf_counter(), time.process_time()
    found = linear_probe(train, test, ProbePlan(), generator)
    ours, cpu = time.perf_counter() - began, time.process_time() - worked
    print(
        f"\n{ours:.1f} s ({cpu:.1f} s of all threads), accuracy {found.accuracy.value:.3f}; "
        f"{hardware_line(hardware())}"
    )
    assert found.accuracy.value > 0.5
    assert ours <= 60
