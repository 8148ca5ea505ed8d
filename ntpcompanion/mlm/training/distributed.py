"""The processes that share a run: one, or those that `torchrun` started."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class Processes:
    """Which of how many processes this is."""

    rank: int = 0
    count: int = 1

    def shard(self, micro_batches: int) -> range:
        """The micro-batches of each step that this process takes. Raises ValueError unless all
        processes get as many.
        """
        if micro_batches % self.count:
            raise ValueError(
                f"{self.count} processes cannot share {micro_batches} micro-batches evenly. "
                f"Let `micro_batch` be `batch_size` divided by {self.count}, or a part of that."
            )
        return range(self.rank, micro_batches, self.count)

    def mean(self, value: torch.Tensor) -> torch.Tensor:
        """The mean of a number over the processes."""
        if self.count == 1:
            return value
        total = value.clone()
        dist.all_reduce(total)
        return total / self.count


@contextmanager
def joined(device: str) -> Iterator[tuple[Processes, torch.device]]:
    """The present process among those of `torchrun`, and its device: GPU number LOCAL_RANK with
    NCCL, or the CPU with gloo.

    Without torchrun it is one process alone. Raises ValueError if there is no such device here.
    """
    count, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    local_device = checked_device(device)
    if local_device == torch.device("cuda"):
        local_device = checked_device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}")
    if count == 1:
        yield Processes(), local_device
        return
    if local_device.type == "cuda":
        torch.cuda.set_device(local_device)
    dist.init_process_group("nccl" if local_device.type == "cuda" else "gloo")
    try:
        yield Processes(rank, count), local_device
    finally:
        dist.destroy_process_group()


def checked_device(name: str | torch.device) -> torch.device:
    """The device of that name; "auto" is a GPU if there is one. Raises ValueError if this machine
    has none such.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA raises the latter
        raise ValueError(
            f"`device`: there is no {name!r} here ({str(error).splitlines()[0]}). Use 'cpu' or "
            "'auto'."
        ) from error
    return device
