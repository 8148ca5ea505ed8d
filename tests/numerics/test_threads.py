import inspect
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from threadpoolctl import ThreadpoolController, threadpool_limits

from ntpcompanion.linear import regularization_path
from ntpcompanion.linear.dynamics import flow
from ntpcompanion.linear.separability import decision as separability
from ntpcompanion.linear.separability.decision import check_separability
from ntpcompanion.linear.svm import next_token_svm as svm
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics import threads

# the package has a function of that name
path_module = inspect.getmodule(regularization_path)
POOLS = ThreadpoolController().select(user_api="blas")


def setting():
    """Threads of each pool of NumPy and SciPy, and of torch."""
    return {library["filepath"]: library["num_threads"] for library in POOLS.info()} | {
        "torch": torch.get_num_threads()
    }


@pytest.fixture
def three_threads():
    """What a caller has set: more than one thread everywhere, whatever the machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    with threadpool_limits(3, user_api="blas"):
        yield setting()
    torch.set_num_threads(before)


def test_small_products_get_one_thread_and_the_caller_its_own_back(three_threads):
    assert list(three_threads.values()).count(3) > 1, (
        "torch, and at least one pool that can have several threads"
    )
    with threads.one_thread_if(True):
        assert set(setting().values()) == {1}
        with threads.one_thread_if(True):
            assert set(setting().values()) == {1}
        assert set(setting().values()) == {1}
    assert setting() == three_threads


def test_large_products_keep_what_the_caller_has_set(three_threads):
    with threads.one_thread_if(False):
        assert setting() == three_threads
    assert setting() == three_threads


def test_an_error_restores_the_caller_s_setting_too(three_threads):
    with pytest.raises(ZeroDivisionError), threads.one_thread_if(True):
        raise ZeroDivisionError
    assert setting() == three_threads


def test_two_threads_of_a_program_that_overlap_leave_the_setting_as_it_was(three_threads):
    """The one that began first ends first: it must not restore under the other what the other then
    takes for the original.
    """
    entered, leave = threading.Event(), threading.Event()

    def second():
        with threads.one_thread_if(True):
            entered.set()
            leave.wait(60)

    other = threading.Thread(target=second)
    with threads.one_thread_if(True):
        other.start()
        assert entered.wait(60)
    leave.set()
    other.join(60)
    assert setting() == three_threads


@pytest.mark.parametrize(
    ("solve", "module", "inside"),
    [
        (check_separability, separability, "check_weights"),
        (solve_ntp_svm, svm, "polish"),
        (
            lambda table: regularization_path(table, [1.0]),
            path_module,
            "lu_factor",
        ),
        (lambda table: flow.gradient_flow(table, [0.0]), flow, "solve_ivp"),
    ],
    ids=["separability", "svm", "regularization path", "flow"],
)
@pytest.mark.parametrize("small", [True, False])
def test_a_solver_works_with_threads_by_the_size_of_its_table(
    three_threads, monkeypatch, solve, module, inside, small
):
    seen, original = [], getattr(module, inside)
    monkeypatch.setattr(
        module,
        inside,
        lambda *args, **options: (seen.append(setting()), original(*args, **options))[1],
    )
    table = ContextTable.random(4, 5, 2, 6, np.random.default_rng(0))
    for name in {"SMALL_PRODUCT", "SMALL_STEP", "SMALL_SYSTEM"} & set(vars(module)):
        monkeypatch.setattr(module, name, getattr(module, name) if small else 1)
    solve(table)
    assert seen
    assert all(found == (dict.fromkeys(found, 1) if small else three_threads) for found in seen)
    assert setting() == three_threads


def test_without_torch_nothing_imports_it():
    code = (
        "import sys; from ntpcompanion.numerics.threads import one_thread_if\nwith "
        "one_thread_if(True): pass\nprint('torch' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "False"
    )
