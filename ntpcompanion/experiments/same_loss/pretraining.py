"""One pre-training run: a masked language model, followed by its distance from the exact
conditionals.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.same_loss.plan_fields import NamedLanguage, NamedModel, OneLanguage
from ntpcompanion.languages.language import PADDING
from ntpcompanion.mlm.data.fingerprint import fingerprint
from ntpcompanion.mlm.data.named_plans import PAPER_TOKENS
from ntpcompanion.mlm.evaluation.evaluate import SUBSETS, TestSet, draw_test_set, evaluate
from ntpcompanion.mlm.training.distributed import Processes, checked_device
from ntpcompanion.mlm.training.train import TrainingState, train
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.build_network import parameters_of
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.validation import check_instance


class Plan(experiment.Plan):
    """What is trained, on what, and how often it is measured."""

    language: Annotated[
        NamedLanguage, Field(description="a key of LANGUAGE_PLANS, or the fields of one plan")
    ]
    model: Annotated[
        NamedModel,
        Field(
            description="a key of MODEL_PLANS, or the fields of one plan; words and positions are "
            "those of the language"
        ),
    ]
    training: Annotated[
        TrainingPlan, Field(description="its seed is also that of the test sentences")
    ]
    evaluations: Annotated[
        int,
        Field(
            ge=1,
            description="at how many steps the model is measured, beside the start; evenly spread "
            "on a logarithmic scale from a hundredth of the steps to all of them",
        ),
    ] = 20
    also_at: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...],
        Field(description="further steps at which it is measured"),
    ] = ()
    sentences: Annotated[
        int, Field(ge=SUBSETS, description="test sentences, the same at each step")
    ] = 2000
    device: Annotated[str, Field(description="as for torch, or auto for a GPU if there is one")] = (
        "cpu"
    )

    @property
    def shape(self) -> ModelPlan:
        """The network for the words and the sentences of the language."""
        return replace(self.model, words=self.language.words, positions=self.language.length)

    @property
    def eval_steps(self) -> list[int]:
        """The steps at which the model is measured."""
        steps = self.training.steps
        spread = np.geomspace(max(1, steps // 100), steps, self.evaluations).round().astype(int)
        return sorted({0, *spread.tolist(), *self.also_at})


@dataclass(frozen=True)
class CurvePoint:
    """A model at one step of its training, with the test sentences' `entropy` and `kl` in nats (see
    `Evaluation`). `training_loss` is the mean since the point before; None without a step since.
    """

    step: int
    seconds: float
    training_loss: float | None
    entropy: float
    kl: float
    kl_stderr: float


class Result(experiment.Result):
    """A learning curve, and what it is the curve of."""

    language: OneLanguage
    model: ModelPlan
    training: TrainingPlan
    device: Annotated[str, Field(description="cpu or cuda")]
    parameters: Annotated[int, Field(description="trained numbers of the model")]
    curve: tuple[CurvePoint, ...]
    words: Annotated[int, Field(description="seen in training")]
    share_of_paper: Annotated[float, Field(description="of the words the paper trained on")]


def run(
    plan: Plan,
    *,
    checkpoint: Path | None = None,
    processes: Processes | None = None,
    report: Callable[[CurvePoint], None] = lambda point: None,
) -> Result:
    """Train a model, and measure its distance from the exact conditionals on the way.

    Parameters
    ----------
    plan
        the language, the model, and how it is trained and measured.
    checkpoint
        a folder: a killed run of the same plan goes on from what it holds.
    processes
        those that share the run (see `joined`); only the first one measures, and returns points.
    report
        is given each point when it is measured.

    Returns
    -------
    Result
        the learning curve.

    Raises
    ------
    ValueError
        a plan that does not fit, or of another experiment; a checkpoint of another plan.
    FloatingPointError
        a training loss that is not finite.

    Examples
    --------
    >>> from ntpcompanion.experiments.same_loss import pretraining
    >>> from ntpcompanion.mlm import HMMPlan, TrainingPlan
    >>> from ntpcompanion.networks import ModelPlan
    >>> language, model = HMMPlan(2, 6, 4), ModelPlan("lstm", 8, layers=1)
    >>> plan = pretraining.Plan(
    ...     language=language, model=model, training=TrainingPlan(30, 32), sentences=100,
    ...     evaluations=1,
    ... )
    >>> [point.step for point in pretraining.run(plan).curve]
    [0, 1, 30]
    """
    return train_and_measure(plan, checkpoint=checkpoint, processes=processes, report=report)[0]


def train_and_measure(
    plan: Plan,
    *,
    checkpoint: Path | None = None,
    processes: Processes | None = None,
    report: Callable[[CurvePoint], None] = lambda point: None,
) -> tuple[Result, LanguageModel]:
    """As `run`, with the trained model beside the result."""
    check_instance("plan", plan, Plan)
    if checkpoint is not None:
        check_instance("checkpoint", checkpoint, Path)
    processes = Processes() if processes is None else processes
    check_instance("processes", processes, Processes)
    device = checked_device(plan.device)
    if checkpoint:
        checkpoint.mkdir(parents=True, exist_ok=True)
    language = plan.language.build(device)
    test = draw_test_set(language, plan.sentences, plan.language.length, plan.training.seed, device)
    history = _History(
        checkpoint / "curve.json" if checkpoint else None, fingerprint((repr(plan), test))
    )
    file = checkpoint / "training.pt" if checkpoint else None
    for state in train(
        plan.shape,
        plan.training,
        language,
        device=device,
        eval_steps=plan.eval_steps,
        checkpoint=file,
        processes=processes,
    ):
        if not processes.rank and state.step not in history.points:
            report(history.add(_point(state, test)))
    return _result(plan, state, test, device.type, tuple(history.points.values())), state.model


def _result(
    plan: Plan, state: TrainingState, test: TestSet, device: str, curve: tuple[CurvePoint, ...]
) -> Result:
    words = float((test.tokens != PADDING).sum() / len(test.tokens)) * state.sentences
    return Result(
        language=plan.language,
        model=plan.shape,
        training=plan.training,
        device=device,
        parameters=parameters_of(state.model),
        curve=curve,
        words=round(words),
        share_of_paper=words / PAPER_TOKENS[plan.language.family],
    )


def _point(state: TrainingState, test: TestSet) -> CurvePoint:
    loss = None if math.isnan(state.loss) else state.loss
    return CurvePoint(state.step, state.seconds, loss, **asdict(evaluate(state.model, test)))


class _History:
    """Points by step, stored in a file so that a run that resumes has those from before.

    Raises ValueError for a file of another plan or other test sentences.
    """

    def __init__(self, path: Path | None, belongs_to: str) -> None:
        self.path, self.belongs_to = path, belongs_to
        stored: Any = {"identity": belongs_to, "points": []}
        if path and path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(stored, dict) or stored.get("identity") != belongs_to:
            raise ValueError(
                f"{path} is the curve of another plan, or on other test sentences. Name another "
                "folder, or delete this one to start again."
            )
        self.points = {point["step"]: CurvePoint(**point) for point in stored["points"]}

    def add(self, point: CurvePoint) -> CurvePoint:
        self.points[point.step] = point
        if self.path:
            temporary = self.path.with_suffix(".tmp")
            rows = [asdict(entry) for entry in self.points.values()]
            stored = {"identity": self.belongs_to, "points": rows}
            temporary.write_text(json.dumps(stored), encoding="utf-8")
            temporary.replace(self.path)
        return point
