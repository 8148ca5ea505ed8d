"""What tells one language from another: a hash of all its parameters, not of a sample."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from hashlib import sha256
from types import FunctionType

import numpy as np
import torch
from torch import Tensor, nn


def fingerprint(value: object) -> str:
    """A hash, of 64 hexadecimal digits, of tensors, arrays, modules, numbers, texts and
    dataclasses, nested in any way: a language, or anything else that a checkpoint belongs to.

    It is equal on every device, and changes with every entry, shape, type and name. Raises
    ValueError for any other object, such as a function.
    """
    digest = sha256()
    for part in _parts(value):
        digest.update(sha256(part).digest())  # of one length each, so that no two lists are joined
    return digest.hexdigest()


def _parts(value: object) -> Iterator[bytes]:
    kind = type(value)
    yield str(kind).encode()
    if isinstance(value, Tensor):
        yield f"{value.dtype} {tuple(value.shape)}".encode()
        # bfloat16 has no array, but bytes
        yield value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    elif isinstance(value, nn.Module):
        yield f"{value!r} {getattr(value, 'config', '')}".encode()
        yield from _parts(dict(value.state_dict()))
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode() + value.tobytes()
    elif value is None or isinstance(value, str | bytes | bool | int | float | torch.device):
        yield repr(value).encode()
    elif isinstance(value, dict):
        yield from _parts(list(value.items()))
    elif isinstance(value, list | tuple):
        yield str(len(value)).encode()
        for item in value:
            yield from _parts(item)
    elif is_dataclass(value):  # without what it remembers of earlier calls
        yield from _parts({field.name: getattr(value, field.name) for field in fields(value)})
    elif hasattr(value, "__dict__") and not isinstance(value, type | FunctionType):
        yield from _parts(vars(value))
    else:
        raise ValueError(
            f"a {kind.__qualname__} in the language cannot be told from others. Make the language "
            "of tensors, numbers and texts, or train without `checkpoint`."
        )
