"""A kernel that was forked beside its worker and waits to be told its arguments, as jupyter_client
starts kernels.
"""

import json
import os
import signal
import socket
from importlib.metadata import EntryPoint
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner
from traitlets import Int

NAME = "ntpcompanion-forked"


class Child:
    """A forked child of this process, with what is used of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """The exit code, negative for that of a signal, or None while it runs."""
        return self._ended(os.WNOHANG)

    def wait(self) -> int | None:
        """The exit code, after its end."""
        return self._ended(0)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def _ended(self, options: int) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self.pid, options)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code


class ForkedProvisioner(LocalProvisioner):
    """Gives the waiting process, child number `child`, its orders through the socket `orders`."""

    child = Int()
    orders = Int()

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Have the child be the kernel of a command: `python -P tracing.py ARGUMENTS`."""
        order = {
            # that variable is read when the module is imported, which has happened
            "arguments": [*cmd[2:], f"--IPKernelApp.parent_handle={os.getpid()}"],
            "environment": dict(kwargs.get("env") or os.environ),
            "folder": str(kwargs.get("cwd") or os.getcwd()),
        }
        with socket.socket(fileno=self.orders) as told:
            told.sendall(json.dumps(order).encode())
        self.process = Child(self.child)  # type: ignore[assignment]  # what is used of a Popen
        # it leads a session, and so a process group, of its own
        self.pid = self.pgid = self.child
        self.cwd = order["folder"]
        return self.connection_info


def forked_kernel(child: int, orders: int) -> dict[str, Any]:
    """The metadata of a kernel spec whose kernel is that child."""
    factory = KernelProvisionerFactory.instance()
    value = f"{__name__}:{ForkedProvisioner.__name__}"
    factory.provisioners[NAME] = EntryPoint(NAME, value, factory.GROUP_NAME)
    config = {"child": child, "orders": orders}
    return {"kernel_provisioner": {"provisioner_name": NAME, "config": config}}
