"""The state of a run on disk: written whole or not at all, and read without running code."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ntpcompanion.languages.language import Language


def identity(language: Language, *plans: object) -> str:
    """What a checkpoint belongs to: the plans, and the first sentences that the language draws.
    These tell a change of how sentences are drawn; `plans` must hold the `fingerprint` of the
    language, as others may begin with the same ones.
    """
    tokens = language.sample(32, torch.Generator().manual_seed(0), "cpu")
    drawn = [language.vocab_size, tokens.tolist()]
    return sha256(repr([*plans, drawn]).encode()).hexdigest()


def digest(*tensors: Tensor) -> str:
    """A hash of the entries of tensors."""
    found = sha256()
    for tensor in tensors:
        found.update(tensor.cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write `state` to a temporary file beside `path`, flush it to the disk, and put it in the
    place of the one before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load_checkpoint(path: Path, belongs_to: str) -> dict[str, Any] | None:
    """The state saved at `path`, its tensors on the CPU; None if there is no file.

    Raises ValueError if the file is not a whole checkpoint, or one of another plan or language.
    """
    if not path.exists():
        return None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        belongs = state["identity"]
    except Exception as error:  # torch raises whatever its unpickler meets
        raise ValueError(
            f"{path} cannot be read as a checkpoint ({type(error).__name__}). Delete it to start "
            "again."
        ) from error
    if belongs != belongs_to:
        raise ValueError(
            f"{path} is the checkpoint of another plan or language. Name another folder, or delete "
            "it to start again."
        )
    return state
