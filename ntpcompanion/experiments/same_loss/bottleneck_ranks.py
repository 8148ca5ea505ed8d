"""How much of the loss above the floor does the width of a masked language model force?"""

from typing import Annotated

from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.same_loss.plan_fields import NamedLanguage
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set
from ntpcompanion.mlm.evaluation.softmax_bottleneck import divergence_of_decoder, least_divergence


class Plan(experiment.Plan):
    """A language, and ranks of the logits."""

    language: Annotated[
        NamedLanguage, Field(description="a key of LANGUAGE_PLANS, or the fields of one plan")
    ]
    ranks: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(min_length=1, description="features beside a bias, each below the number of words"),
    ]
    contexts: Annotated[
        int, Field(ge=20, description="masked sentences to fit decoders to, and as many others")
    ]
    starts: Annotated[int, Field(ge=1, description="of each fit")] = 2
    seed: Annotated[int, Field(ge=0, description="of sentences and starts")] = 0


class RankFit(experiment.Result):
    """The least divergence that was found with one rank."""

    rank: int
    fitted: Annotated[float, Field(description="nats, on the sentences of the fit")]
    fresh: Annotated[
        float, Field(description="nats, with the same decoder and the best features of others")
    ]
    fresh_stderr: Annotated[float, Field(description="over these sentences")]
    spread: Annotated[float, Field(description="largest minus least end of the starts, nats")]


class Result(experiment.Result):
    """By rank."""

    fits: tuple[RankFit, ...]


def run(plan: Plan) -> Result:
    """Fit decoders of each rank to the conditional distributions of hidden words.

    Returns a fit for each rank; `fresh` bounds the least divergence of the language from above, up
    to sampling error.

    Raises
    ------
    ValueError
        a plan of another experiment, a rank that is not below the number of words.

    Examples
    --------
    >>> from ntpcompanion.experiments import bottleneck_ranks
    >>> from ntpcompanion.mlm import HMMPlan
    >>> plan = bottleneck_ranks.Plan(language=HMMPlan(3, 8, 4), ranks=(1, 2), contexts=40)
    >>> one, two = bottleneck_ranks.run(plan).fits
    >>> one.fitted > two.fitted
    True
    """
    language = plan.language.build()
    samples = [
        draw_test_set(language, plan.contexts, plan.language.length, seed).conditional
        for seed in (plan.seed, plan.seed + 1)
    ]
    fits = []
    for rank in plan.ranks:
        fit = least_divergence(samples[0], rank, starts=plan.starts, seed=plan.seed)
        fresh = divergence_of_decoder(samples[1], fit)
        fits.append(
            RankFit(
                rank=rank,
                fitted=fit.value,
                fresh=float(fresh.mean()),
                fresh_stderr=float(fresh.std() / len(fresh) ** 0.5),
                spread=max(fit.starts) - min(fit.starts),
            )
        )
    return Result(fits=tuple(fits))
