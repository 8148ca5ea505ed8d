"""How much does the next-token SVM cost as the table grows to the size of a real vocabulary?"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.tasks import tasks_table
from ntpcompanion.linear.svm.next_token_svm import NTPSVMSolution, solve_ntp_svm
from ntpcompanion.linear.svm.working_set import LargeSolution, solve_large_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.tables.large_tables import planted_table
from ntpcompanion.numerics.memory import forget_peak, peak_gib
from ntpcompanion.numerics.progress import Round
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, slope_within_seeds

GROWTH = "large_svm_growth"
RECORDS = ("large_svm", "large_svm_full", GROWTH, "large_svm_wide")
BASE = {"num_contexts": 1000, "vocab_size": 100, "dim": 96, "support_size": 2}  # m, V, d, S


class Sizes(BaseModel):
    """Of a table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_contexts: Annotated[int, Field(ge=1, description="m")]
    vocab_size: Annotated[int, Field(ge=2, description="V")]
    dim: Annotated[int, Field(ge=1, description="d")]
    support_size: Annotated[int, Field(ge=1, description="S, the largest of planted supports")]


class Plan(experiment.Plan):
    """A random table, and a solver.

    `sizes.support_size` is below `sizes.vocab_size`, and of a planted table at most `sizes.dim`.
    """

    sizes: Sizes
    table: Annotated[
        Literal["planted", "gaussian"],
        Field(description="supports of a random teacher, or at random with N(0, 1) embeddings"),
    ]
    solver: Annotated[
        Literal["working set", "gram"],
        Field(description="`solve_large_svm`, or `solve_ntp_svm` on the (m, m) Gram matrix"),
    ]
    tol: Annotated[float, Field(gt=0, lt=1, description="relative duality gap")] = 1e-6
    max_products: Annotated[int, Field(ge=1, description="of the solver, at most")] = 5000
    seed: Annotated[int, Field(ge=0, description="of the table")]

    @model_validator(mode="after")
    def _support_fits(self) -> "Plan":
        sizes, V = self.sizes, self.sizes.vocab_size
        maximum = min(V - 1, sizes.dim) if self.table == "planted" else V - 1
        if sizes.support_size > maximum:
            raise ValueError(
                f"`sizes.support_size` must be at most {maximum} (`vocab_size` − 1, and `dim` for "
                f"planted tables), got {sizes.support_size}."
            )
        return self


class Result(experiment.Result):
    """What was proved, and what it took."""

    verdict: Annotated[str, Field(description="SEPARABLE if the gap is below the tolerance")]
    gap: Annotated[float | None, Field(description="(P − D) / P, proved; None without a decoder")]
    tie_violation: Annotated[
        float | None, Field(description="largest difference of in-support logits")
    ]
    norm: Annotated[float | None, Field(description="of the feasible decoder")]
    gaps: Annotated[tuple[float | None, ...], Field(description="proved after each scan or round")]
    products_at: Annotated[tuple[int, ...], Field(description="products up to each of them")]
    scans: Annotated[int, Field(description="of all margins; 0 for the Gram matrix")]
    products: Annotated[int, Field(description="of the solver")]
    working_set: Annotated[int, Field(description="pairs off the supports; all for Gram")]
    operations: Annotated[int, Field(description="multiplications of scans and products")]
    seconds: Annotated[float, Field(description="of the solver, on a machine with other work")]
    peak_gib: Annotated[float | None, Field(description="resident size at most, GiB, in halves")]


def run(plan: Plan) -> Result:
    """Solve one table, and count.

    Returns gap, counts, and what the process needed. Minutes of one core at m = 10⁵, V = 10⁴, d =
    256.

    Raises
    ------
    ValueError
        as `planted_table`, `solve_large_svm` and `solve_ntp_svm`.

    Examples
    --------
    >>> from ntpcompanion.experiments.scale import large_svm
    >>> sizes = large_svm.Sizes(num_contexts=40, vocab_size=12, dim=16, support_size=3)
    >>> found = [
    ...     large_svm.run(large_svm.Plan(sizes=sizes, table="planted", solver=solver, seed=0))
    ...     for solver in ("working set", "gram")
    ... ]
    >>> [answer.verdict for answer in found], bool(abs(found[0].norm / found[1].norm - 1) < 1e-6)
    (['SEPARABLE', 'SEPARABLE'], True)
    """
    forget_peak()
    table, rounds = table_of(plan), list[Round]()
    begin = time.monotonic()
    solution: LargeSolution | NTPSVMSolution
    if plan.solver == "working set":
        solution = solve_large_svm(
            table, tol=plan.tol, max_products=plan.max_products, callback=rounds.append
        )
        scans, products = solution.scans, solution.products
        working_set, operations = solution.working_set, solution.operations
    else:
        solution = solve_ntp_svm(
            table, tol=plan.tol, max_iterations=plan.max_products, callback=rounds.append
        )
        m, V = table.next_token.shape
        scans, products = 0, solution.iterations
        working_set, operations = m * V - table.support.nnz, products * m * m * V
    seconds = time.monotonic() - begin
    return Result(
        verdict=solution.verdict.name,
        gap=_finite(solution.duality_gap),
        tie_violation=_finite(solution.tie_violation),
        norm=None if solution.weights is None else float((solution.weights**2).sum() ** 0.5),
        gaps=tuple(_finite(one.gap) for one in rounds),
        products_at=tuple(one.iterations for one in rounds),
        scans=scans,
        products=products,
        working_set=working_set,
        operations=operations,
        seconds=seconds,
        peak_gib=peak_gib(),
    )


def table_of(plan: Plan) -> ContextTable:
    """The table of a plan. Raises ValueError as `planted_table`."""
    sizes = plan.sizes
    shape = sizes.num_contexts, sizes.vocab_size, sizes.support_size, sizes.dim
    rng = stream(plan.seed, f"large table {shape}")
    return (
        planted_table(*shape, rng) if plan.table == "planted" else ContextTable.random(*shape, rng)
    )


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < float("inf") else None


@dataclass(frozen=True, eq=False)
class Tables:
    """What `read_tables` returns: `planted` with a row for each run on a planted table, its
    `record`, plan and result, and `wide`, the run with more dimensions than contexts.
    """

    planted: pd.DataFrame
    wide: Run[Plan, Result]

    @property
    def large(self) -> pd.DataFrame:
        """The growing tables."""
        return self.planted[self.planted.record != GROWTH]

    @property
    def arms(self) -> dict[str, pd.DataFrame]:
        """Multiplications where one size of `BASE` is another: a row for each seed."""
        growth = self.planted[self.planted.record == GROWTH]
        same = growth[[*BASE]] == pd.Series(BASE)
        rows = {size: growth[same.drop(columns=size).all(axis=1)] for size in BASE}
        return {
            size: table.pivot(index="seed", columns=size, values="operations").astype(float)
            for size, table in rows.items()
        }

    @property
    def powers(self) -> dict[str, Effect]:
        """The power of each size with which multiplications grow."""
        return {
            size: slope_within_seeds(
                np.log(np.tile(arm.columns.to_numpy(float), (len(arm), 1))), np.log(arm)
            )
            for size, arm in self.arms.items()
        }

    @property
    def shown(self) -> pd.DataFrame:
        """The growing tables for readers."""
        heads = {
            "num_contexts": "m",
            "vocab_size": "V",
            "gap": "proved gap",
            "scans": "scans",
            "products": "products",
            "working_set": "pairs held",
            "peak_gib": "GiB",
            "seconds": "seconds",
        }
        table = self.large[[*heads]].rename(columns=heads).reset_index(drop=True)
        return table.assign(seconds=table.seconds.round().astype(int))

    @property
    def pairs_each(self) -> float:
        """Pairs held for each context, of the largest table."""
        last = self.large.iloc[-1]
        return float(last.working_set / last.num_contexts)

    @property
    def costs(self) -> pd.Series:
        """What the method would take on 64 machines, with 10⁸ contexts of 10,000 words in 256
        dimensions, if as many pairs of each context were held.
        """
        machines, m, V, d = 64, 1e8, 10_000, 256
        pairs = self.pairs_each * m
        return pd.Series(
            {
                "multiplications of a scan, each machine": m * V * d / machines,
                "multiplications of a product, each machine": 2 * pairs * d / machines,
                "GiB of embeddings, each machine": 4 * m * d / machines / 2**30,
                "GiB of pairs, each machine": 120 * pairs / machines / 2**30,
                "MiB sent in a product, each machine": 2 * 4 * V * d / 2**20,
            }
        )


def read_tables(recorded: Mapping[str, Sequence[Run[Plan, Result]]]) -> Tables:
    """Read the runs of all `RECORDS`, by name."""
    *planted, wide = (recorded[name] for name in RECORDS)
    tables = dict(zip(RECORDS[:-1], map(tasks_table, planted), strict=True))
    table = pd.concat(tables, names=["record"]).reset_index("record")
    return Tables(table.drop(columns=["result", "table", "solver"]), wide[0])
