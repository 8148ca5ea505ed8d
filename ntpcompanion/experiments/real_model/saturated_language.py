"""How near does a masked network come to the exact conditionals of a pretrained model that samples
new sentences for each of its steps?
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.real_model.learned_language import masked_logits
from ntpcompanion.experiments.real_model.model_text import load
from ntpcompanion.experiments.real_model.sampled_language import MOST_WORDS
from ntpcompanion.experiments.same_loss.downstream import CheckpointStore
from ntpcompanion.languages.pretrained.causal_language import CausalLanguage
from ntpcompanion.languages.pretrained.load_models import frequent_words
from ntpcompanion.mlm.evaluation.evaluate import divergence
from ntpcompanion.mlm.training.distributed import checked_device
from ntpcompanion.mlm.training.train import train
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.network_plan import TransformerSize
from ntpcompanion.randomness import torch_stream


class Plan(experiment.Plan):
    """A language as in `sampled_language`, and a network that learns it without ever seeing a
    sentence twice.
    """

    source: Annotated[
        str, Field(min_length=1, description="of the model and its tokenizer, as in `load_opt`")
    ] = "smollm2"
    start: Annotated[
        str | None, Field(description="token before each sentence; None for the model's own")
    ] = None
    words: Annotated[int, Field(ge=2, le=MOST_WORDS, description="c, the most frequent tokens")]
    length: Annotated[int, Field(ge=2, description="T, tokens of a sentence")]
    counted: Annotated[int, Field(ge=1, description="sampled sentences that frequencies are of")]
    tests: Annotated[int, Field(ge=1, description="sentences with exact conditionals")]
    shape: TransformerSize
    training: Annotated[TrainingPlan, Field(description="its seed is also that of the tests")]
    evaluations: Annotated[int, Field(ge=1, description="evenly spread over the steps")]
    chunk: Annotated[int, Field(ge=1, description="strings that the model reads at a time")] = 256
    device: Annotated[str, Field(description="as for torch, or auto for a GPU if there is one")] = (
        "cpu"
    )


class Point(experiment.Result):
    """The network at one step."""

    step: int
    distance: Annotated[float, Field(description="mean KL from the exact conditionals, nats")]


class Result(experiment.Result):
    """One network, on tests that it has not seen; in nats."""

    entropy: Annotated[float, Field(description="of the exact conditionals: the floor")]
    gap: Annotated[float, Field(description="mean KL from them of word frequencies by position")]
    curve: tuple[Point, ...]
    device: Annotated[str, Field(description="cpu or cuda")]

    @property
    def fraction(self) -> float:
        """What is left of the gap after the last step."""
        return self.curve[-1].distance / self.gap


def run(
    plan: Plan,
    *,
    checkpoint: Path | None = None,
    report: Callable[[Point], None] = lambda point: None,
) -> Result:
    """Train a network on sentences that a pretrained model samples, and compare it with the exact
    conditionals on the way.

    Parameters
    ----------
    plan
        the language, the network, and how it is trained.
    checkpoint
        a folder: a killed run of the same plan goes on from what it holds.
    report
        is given each point when it is measured.

    Returns
    -------
    Result
        the floor, what the context is worth, and the distance at each evaluation.

    Raises
    ------
    ImportError, FileNotFoundError, MemoryError
        as `load_causal_model`.
    ValueError
        more words than the model has tokens, sentences beyond its positions; a checkpoint of
        another plan.
    FloatingPointError
        a training loss that is not finite.

    Notes
    -----
    The model reads steps · batch_size · T tokens, and c T (T − 1) / 2 for each test: 200 million
    for 30,000 steps of 1024 sentences of six tokens, some ten days of two cores. It is meant for a
    GPU.

    Examples
    --------
    >>> from ntpcompanion.experiments import saturated_language
    >>> from ntpcompanion.mlm import TrainingPlan
    >>> from ntpcompanion.networks import TransformerSize
    >>> sizes = {"words": 200, "length": 6, "counted": 1024, "tests": 60, "evaluations": 20}
    >>> training = TrainingPlan(steps=30_000, batch_size=1024, learning_rate=3e-3)
    >>> network = {"shape": TransformerSize(64, layers=2, heads=4), "training": training}
    >>> plan = saturated_language.Plan(**sizes, **network, device="cuda")
    >>> saturated_language.run(plan).fraction  # doctest: +SKIP
    """
    device = checked_device(plan.device)
    store = CheckpointStore(checkpoint, repr(plan))
    loaded = load(plan)
    model, seed = loaded.model.to(device), plan.training.seed

    def chosen_words() -> dict[str, object]:
        sizes = {"words": plan.words, "length": plan.length, "sentences": plan.counted, "seed": 0}
        return {"words": frequent_words(model, loaded.tokenizer, [loaded.bos], **sizes).cpu()}

    words = store.state("words", chosen_words)["words"]
    language = CausalLanguage(model, words, loaded.bos, plan.length, chunk=plan.chunk)

    def with_conditionals() -> dict[str, object]:
        drawn = torch_stream(seed, "tests of a real language")
        tests, others = (language.sample(n, drawn, device) for n in (plan.tests, plan.counted))
        counts = torch.nn.functional.one_hot(others, plan.words).sum(0) + 0.5
        with torch.no_grad():
            exact = language.masked_conditional(tests)
        return {"tests": tests.cpu(), "exact": exact.cpu(), "counts": counts.cpu()}

    state = store.state("tests", with_conditionals)
    tests, exact, counts = (state[name].to(device) for name in ("tests", "exact", "counts"))
    steps = np.linspace(0, plan.training.steps, plan.evaluations + 1).round().astype(int).tolist()

    def distance(network: LanguageModel) -> dict[str, object]:
        return {"distance": float(divergence(exact, masked_logits(network, tests)).mean())}

    curve: dict[int, float] = {}
    for snapshot in train(
        plan.shape.for_sentences(plan.words, plan.length),
        plan.training,
        language,
        device=device,
        eval_steps=steps[1:],
        checkpoint=checkpoint / "training.pt" if checkpoint else None,
    ):
        state = store.state(f"step-{snapshot.step}", partial(distance, snapshot.model))
        curve[snapshot.step] = state["distance"]
        report(Point(step=snapshot.step, distance=curve[snapshot.step]))
    for step in set(steps[1:]) - set(curve):  # measured before a kill
        curve[step] = store.state(f"step-{step}", dict)["distance"]
    log_p = counts.log().expand(len(tests), plan.length, plan.words)
    return Result(
        entropy=float(-torch.special.xlogy(exact, exact).sum(2).mean()),
        gap=float(divergence(exact, log_p).mean()),
        curve=tuple(Point(step=step, distance=curve[step]) for step in sorted(curve)),
        device=device.type,
    )
