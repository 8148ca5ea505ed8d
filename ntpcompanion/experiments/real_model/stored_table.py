"""The table of a text with a model's states and output matrix, in half precision: what a page needs
to go on without the model.
"""

import base64
from typing import Annotated

import numpy as np
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.linear.tables.contexts import ContextTable


class HalfMatrix(experiment.Result):
    """A matrix in half precision, as text."""

    shape: tuple[int, int]
    float16: Annotated[str, Field(description="base64 of its rows, little-endian")]

    @classmethod
    def of(cls, matrix: Float[np.ndarray, "n d"]) -> "HalfMatrix":
        """Rounds."""
        rows, columns = matrix.shape
        data = np.ascontiguousarray(matrix, dtype="<f2").tobytes()
        return cls(shape=(rows, columns), float16=base64.b64encode(data).decode())

    def array(self) -> Float[np.ndarray, "n d"]:
        """In float64."""
        numbers = np.frombuffer(base64.b64decode(self.float16), dtype="<f2")
        return numbers.reshape(self.shape).astype(np.float64)


class StoredTable(experiment.Result):
    """m contexts and V successors of a text, with the states and the output rows of a model."""

    contexts: Annotated[tuple[str, ...], Field(description="(m,), as text")]
    successors: Annotated[tuple[str, ...], Field(description="(V,), as text")]
    times: Annotated[
        tuple[tuple[int, int, int], ...], Field(description="context, successor, how often")
    ]
    states: Annotated[HalfMatrix, Field(description="(m, d), after the last layer")]
    matrix: Annotated[HalfMatrix, Field(description="(V, d), output rows of the successors")]

    def table(self, first: int | None = None) -> ContextTable:
        """The table of all contexts, or of the `first` ones with the tokens that follow them."""
        counts = np.zeros((len(self.contexts), len(self.successors)))
        rows, columns, times = np.array(self.times).T
        counts[rows, columns] = times
        counts = counts[:first]
        counts = counts[:, counts.any(axis=0)]
        total = counts.sum(axis=1)
        return ContextTable(
            self.states.array()[:first], counts / total[:, None], total / total.sum()
        )
