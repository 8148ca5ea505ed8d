"""What do group components gain that are chosen by the nearest key, and on unseen clients?"""

from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect


class Setting(NamedTuple):
    """Distance of group means in standard deviations, examples of a client, variance of heads."""

    separation: float
    examples: int
    spread: float = 1.0


class Plan(experiment.Plan):
    """Clients that mix groups, and settings in which components are fitted."""

    settings: Annotated[tuple[Setting, ...], Field(min_length=1, description="to compare")]
    groups: Annotated[int, Field(ge=2, description="G, and as many keys")] = 4
    spare_dim: Annotated[int, Field(ge=0, description="features of keys besides one a group")] = 3
    dim: Annotated[int, Field(ge=1, description="p, of the features that heads read")] = 20
    clients: Annotated[int, Field(ge=1, description="in training")] = 40
    mixing: Annotated[float, Field(gt=0, description="Dirichlet parameter of a client")] = 0.5
    noise: Annotated[float, Field(ge=0, description="s, of the targets")] = 1.0
    tested: Annotated[int, Field(ge=10, description="examples in a test")] = 8000
    seeds: Annotated[int, Field(ge=2, description="draws of heads, clients and examples")]
    seed: Annotated[int, Field(ge=0, description="of the first")]


class Risks(experiment.Result):
    """Excess risks on new clients, each of one group, of one seed in one setting."""

    setting: Annotated[int, Field(description="position in the plan")]
    run: int
    shared: Annotated[float, Field(description="one head")]
    keyed: Annotated[float, Field(description="heads chosen by the nearest key")]
    oracle: Annotated[float, Field(description="heads of the true groups")]
    rand: Annotated[float, Field(description="adjusted Rand index of keys and groups")]
    seen: Annotated[float, Field(description="by keys, on new examples of the training clients")]
    new_shared: Annotated[float, Field(description="one head, on a group that is not trained on")]
    new_keyed: Annotated[float, Field(description="by keys, on that group")]


class Result(experiment.Result):
    """All risks."""

    risks: tuple[Risks, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each setting and seed, with `gain`, `fraction` (of the oracle's) and `off`."""
        table = table_of(self.risks)
        gain = table.shared - table.keyed
        fraction = gain / (table.shared - table.oracle)
        return table.assign(gain=gain, fraction=fraction, off=fraction - table.rand)

    def of(self, column: str) -> pd.DataFrame:
        """One number: a row for each seed, a column for each setting."""
        return self.table.pivot(index="run", columns="setting", values=column)

    def mean(self, column: str, setting: int, less: str | None = None) -> Effect:
        """Mean over seeds of one number, or of its difference from another."""
        values = self.of(column)[setting]
        return mean_effect(values - self.of(less)[setting] if less else values)


def run(plan: Plan) -> Result:
    """Fit shared and group components to clients that mix groups, and test them on others.

    Returns excess risks over the noise, estimated on new examples. Cost 0.1 s for each seed and
    setting at the defaults.

    Examples
    --------
    >>> from ntpcompanion.experiments import group_components
    >>> plan = group_components.Plan(settings=[(6, 50)], seeds=2, seed=0)
    >>> group_components.run(plan).mean("fraction", 0).mean > 0.9
    True
    """
    cases = [(i, run) for i in range(len(plan.settings)) for run in range(plan.seeds)]
    return Result(risks=tuple(_one(plan, i, run) for i, run in cases))


class _Sample(NamedTuple):
    keys: np.ndarray  # features that keys read
    features: np.ndarray
    groups: np.ndarray
    signal: np.ndarray


def _one(plan: Plan, index: int, run: int) -> Risks:
    setting, g = plan.settings[index], plan.groups
    rng = stream(plan.seed, f"clients {run}")
    heads = rng.standard_normal((g + 1, plan.dim))  # the last group is not trained on
    heads = np.sqrt(setting.spread / plan.dim) * heads
    mixtures = rng.dirichlet(np.full(g, plan.mixing), plan.clients)

    def draw(groups: np.ndarray) -> _Sample:
        keys = rng.standard_normal((len(groups), g + 1 + plan.spare_dim))
        keys[np.arange(len(groups)), groups] += setting.separation / np.sqrt(2)
        features = rng.standard_normal((len(groups), plan.dim))
        return _Sample(keys, features, groups, (features * heads[groups]).sum(1))

    def draw_clients(each: int) -> _Sample:
        chosen = [rng.choice(g, size=each, p=mixture) for mixture in mixtures]
        return draw(np.concatenate(chosen))

    training = draw_clients(setting.examples)
    targets = training.signal + plan.noise * rng.standard_normal(len(training.signal))
    centres = KMeans(g, n_init=5, random_state=int(rng.integers(2**31))).fit(training.keys)
    choices: dict[str, Callable[[_Sample], np.ndarray]] = {
        "shared": lambda sample: np.zeros(len(sample.groups), dtype=int),
        "keyed": lambda sample: centres.predict(sample.keys),
        "oracle": lambda sample: sample.groups,
    }
    fitted = {
        name: fit_components(
            training.features, targets, choice(training), 1 if name == "shared" else g
        )
        for name, choice in choices.items()
    }

    def risk(name: str, sample: _Sample) -> float:
        chosen = fitted[name][choices[name](sample)]
        return float((((sample.features * chosen).sum(1) - sample.signal) ** 2).mean())

    new = draw(np.repeat(np.arange(g), plan.tested // g))
    unknown = draw(np.full(plan.tested // g, g))
    return Risks(
        setting=index,
        run=run,
        **{name: risk(name, new) for name in choices},
        rand=float(adjusted_rand_score(new.groups, choices["keyed"](new))),
        seen=risk("keyed", draw_clients(plan.tested // plan.clients)),
        new_shared=risk("shared", unknown),
        new_keyed=risk("keyed", unknown),
    )


def fit_components(
    features: np.ndarray, targets: np.ndarray, cells: np.ndarray, count: int
) -> np.ndarray:
    """Least squares of targets (n,) on features (n, p): a shared head, and then what each of the
    `count` cells adds to it; rows of heads (count, p). A cell without examples adds nothing.
    """
    shared = np.linalg.lstsq(features, targets, rcond=None)[0]
    left = targets - features @ shared
    rows = [cells == k for k in range(count)]
    added = [np.linalg.lstsq(features[row], left[row], rcond=None)[0] for row in rows]
    return np.asarray(shared + np.array(added))
