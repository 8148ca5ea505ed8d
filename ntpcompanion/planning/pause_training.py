"""Training of a decoder to answer after pauses."""

from collections.abc import Collection, Iterator
from typing import Annotated

import torch

from ntpcompanion.checks import Length, Positive, Range, checked
from ntpcompanion.planning.parity import ParityQuestions
from ntpcompanion.planning.pauses import PauseDecoder

WARMUP = 50  # steps in which the rate rises to its value


@checked
def train_with_pauses(
    decoder: PauseDecoder,
    questions: ParityQuestions,
    pauses: Annotated[
        int,
        Range(
            0,
            "decoder.model.plan.positions - questions.prefixes.shape[1]",
            "(positions that `questions` leave)",
        ),
    ],
    *,
    eval_steps: Annotated[Collection[int], Length(1), Range(0)],
    learning_rate: Positive,
) -> Iterator[int]:
    """Take steps of Adam, in place, on the exact expected loss of the answers after `pauses`
    pauses, and yield the step at each of the eval_steps; the rate rises over the first 50 steps.
    Raises ValueError for no or negative stops, a rate that is not positive, no decoder or
    questions, too many pauses; FloatingPointError for an infinite loss.
    """
    wanted = set(eval_steps)
    rate, last = float(learning_rate), max(wanted)
    optimizer = torch.optim.Adam(decoder.parameters(), lr=rate, fused=True)  # half the time
    for step in range(last + 1):
        if step in wanted:
            yield step
        if step == last:
            return
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / WARMUP)
        loss = questions.loss(decoder.answer(questions.prefixes, pauses))
        if not loss.isfinite():
            raise FloatingPointError(
                f"`learning_rate` = {rate:g} is too large: the loss is {loss.item()} after {step} "
                "steps."
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
