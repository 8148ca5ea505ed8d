"""A forked process in the hands of jupyter_client: its end, and the orders that it gets."""

import asyncio
import json
import os
import signal
import socket
import sys
import time

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.provisioning import KernelProvisionerFactory

from ntpcompanion.workflow.running.forked_kernel import Child, forked_kernel

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no system that forks")


def child(code=None):
    """The number of a forked process that ends with a code, or waits for a signal."""
    pid = os.fork()
    if not pid:
        time.sleep(60 * (code is None))
        os._exit(code or 0)
    return pid


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize(
    ("end", "code"),
    [("kill", -signal.SIGKILL), ("terminate", -signal.SIGTERM), (None, 3)],
)
def test_a_child_is_there_until_it_ends_and_then_has_its_code(end, code):
    process = Child(child(None if end else 3))
    if end:
        assert process.poll() is None
        getattr(process, end)()
    assert process.wait() == code
    assert process.poll() == process.wait() == code
    process.kill()  # another process may have its number by now: no signal is sent
    assert (process.stdin, process.stdout, process.stderr) == (None, None, None)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_the_waiting_child_is_told_its_arguments_environment_and_folder(tmp_path):
    pid = child()
    theirs, ours = socket.socketpair()
    factory = KernelProvisionerFactory.instance()
    provisioner = factory.create_provisioner_instance(
        "id", KernelSpec(metadata=forked_kernel(pid, ours.detach())), parent=None
    )
    command = [sys.executable, "-P", "tracing.py", "log"]
    asyncio.run(provisioner.launch_kernel(command, env={"A": "→"}, cwd=tmp_path))
    with theirs, theirs.makefile() as lines:
        assert json.loads(lines.read()) == {
            "arguments": ["tracing.py", "log", f"--IPKernelApp.parent_handle={os.getpid()}"],
            "environment": {"A": "→"},
            "folder": str(tmp_path),
        }
    assert provisioner.has_process
    assert asyncio.run(provisioner.poll()) is None
    os.kill(pid, signal.SIGKILL)  # a group of its own has only a kernel
    assert asyncio.run(provisioner.wait()) == -signal.SIGKILL
    assert not provisioner.has_process
