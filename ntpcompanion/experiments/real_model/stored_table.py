"""The table of a text with a model's states and output matrix, in half precision: what a page needs
to go on without the model.
"""

import base64
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.real_model.model_text import table_of_counts
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
        return table_of_counts(self.states.array()[:first], self._counts(first))

    def tokens(self, first: int | None = None) -> tuple[str, ...]:
        """The tokens of that table."""
        return tuple(self.successors[z] for z in self._followers(first))

    def rows(self, first: int | None = None) -> Float[np.ndarray, "V d"]:
        """The model's output rows of these tokens."""
        rows: Float[np.ndarray, "V d"] = self.matrix.array()[self._followers(first)]
        return rows

    def _counts(self, first: int | None) -> Int[np.ndarray, "m V"]:
        counts = np.zeros((len(self.contexts), len(self.successors)), dtype=int)
        rows, columns, times = np.array(self.times).T
        counts[rows, columns] = times
        return counts[:first][:, self._followers(first)]

    def _followers(self, first: int | None) -> Int[np.ndarray, " V"]:
        last = len(self.contexts) if first is None else first
        return np.unique([z for j, z, _ in self.times if j < last])
