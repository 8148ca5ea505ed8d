"""Which ability of a language model does pruning destroy first: recalling facts, or using its
prompt?
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from ntpcompanion.adaptation.finetuning import linear_layers
from ntpcompanion.adaptation.pruning import Rule, input_norms, pruned
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.adaptation.common_facts import KINDS
from ntpcompanion.languages.pretrained.load_models import load_causal_model
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.randomness import stream

INPUTS = ("text",)  # fields of a plan that name files
Ability = Literal["recall", "copying", "overriding"]
ABILITIES: dict[Ability, str] = {
    "recall": "{sentence}",
    "copying": "In this story, {fresh} {answer}. So in this story, {fresh}",
    "overriding": "In this story, {sentence} {answer}. So in this story, {sentence}",
}
RULES: tuple[Rule, ...] = ("magnitude", "wanda")


class Plan(experiment.Plan):
    """Facts of one kind, and how the model is pruned."""

    source: Annotated[
        str, Field(min_length=1, description="of the model and its tokenizer, as in `load_opt`")
    ] = "smollm2"
    text: Annotated[
        str, Field(min_length=1, description="for the inputs of Wanda: a path, or a module")
    ] = "pydoc_data.topics"
    rows: Annotated[int, Field(ge=1, description="of that text")] = 8
    length: Annotated[int, Field(ge=2, description="tokens of a row")] = 128
    kind: Annotated[str, Field(description="of the facts, as in `common_facts.KINDS`")]
    facts: Annotated[int, Field(ge=3, description="at most so many that the model answers")]
    sums: Annotated[int, Field(ge=1, description="prompts that show x and x + c, for the model")]
    sparsities: Annotated[
        tuple[Annotated[float, Field(gt=0, lt=1)], ...],
        Field(min_length=1, description="increasing fractions of each matrix that become 0"),
    ]
    seed: Annotated[int, Field(ge=0, description="of the sums")]


class Margins(experiment.Result):
    """Logit of the right answer less that of a wrong one, for each fact, in nats; an answer is
    right if its margin is positive.
    """

    rule: Rule
    sparsity: float
    ability: Ability
    all_tokens: Annotated[tuple[float, ...], Field(description="the best of all other tokens")]
    candidates: Annotated[tuple[float, ...], Field(description="the best other answer of a fact")]
    one: Annotated[
        tuple[float, ...],
        Field(description="the next fact's answer; where the prompt overrides, the true answer"),
    ]


class Result(experiment.Result):
    """Facts of one kind."""

    asked: Annotated[int, Field(description="facts of this kind")]
    answered: Annotated[dict[Ability, int], Field(description="of these by the unpruned model")]
    facts: Annotated[tuple[str, ...], Field(description="the first that it answers in each way")]
    sums: Annotated[int, Field(description="x + c that the unpruned model gets right")]
    margins: Annotated[
        tuple[Margins, ...], Field(description="of sparsity 0 once, under magnitude")
    ]
    text_sha256: str


def run(plan: Plan) -> Result:
    """Ask a language model for facts, for words of its prompt and for facts that the prompt
    changes, unpruned and pruned.

    Prompts end before the answer, whose first token is asked for. In the prompts of copying a name
    without a meaning stands for that of the fact, with the same answer; in those of overriding the
    answer is that of the next fact of the list. A sum shows x=x + c for six to eight other x and
    ends in x=. Only facts count that the unpruned model answers in
    all three ways with the most probable of all tokens: its accuracy is 1 for each ability and each
    set of wrong answers. Every linear layer but the output matrix is pruned to the same sparsity.

    Returns the margins. SmolLM2-135M, 12 facts, two rules and five sparsities: two minutes of one
    core.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError, MemoryError
        as `load_causal_model`; an unknown kind, fewer than three answered facts, a text that is too
        short.

    Examples
    --------
    >>> from ntpcompanion.experiments import pruned_recall
    >>> plan = pruned_recall.Plan(kind="capitals", facts=12, sums=8, sparsities=(0.2,), seed=0)
    >>> pruned_recall.run(plan).answered  # doctest: +SKIP
    """
    if plan.kind not in KINDS:
        raise ValueError(f"`kind` must be one of {', '.join(KINDS)}, got {plan.kind!r}.")
    model, tokenizer = load_causal_model(plan.source)
    text = read_text(plan.text)
    tokens = tokenizer(text.content, add_special_tokens=False, verbose=False)["input_ids"]
    if len(tokens) < plan.rows * plan.length:
        raise ValueError(
            f"`rows` = {plan.rows} of {plan.length} tokens need more than the {len(tokens)} of "
            "this text."
        )
    rows = torch.tensor(tokens[: plan.rows * plan.length]).view(plan.rows, plan.length)
    names = list(KINDS[plan.kind].answers)
    right = {
        ability: _margins(model, tokenizer, plan.kind, names, ability)[0] > 0
        for ability in ABILITIES
    }
    answered = np.all(list(right.values()), axis=0)
    facts = [name for name, good in zip(names, answered, strict=True) if good][: plan.facts]
    if len(facts) < 3:
        raise ValueError(f"`kind` = {plan.kind!r}: the model answers {len(facts)} facts only.")
    sums = _sums(model, tokenizer, plan)
    norms, measured = {"magnitude": None, "wanda": input_norms(model, rows)}, []
    cases: list[tuple[Rule, float]] = [
        ("magnitude", 0.0),
        *((rule, s) for rule in RULES for s in plan.sparsities),
    ]
    for rule, sparsity in cases:
        with pruned(model, linear_layers(model), sparsity, norms[rule]):
            for ability in ABILITIES:
                margins = _margins(model, tokenizer, plan.kind, facts, ability).tolist()
                measured.append(
                    Margins(
                        rule=rule,
                        sparsity=sparsity,
                        ability=ability,
                        all_tokens=tuple(margins[0]),
                        candidates=tuple(margins[1]),
                        one=tuple(margins[2]),
                    )
                )
    return Result(
        asked=len(names),
        answered={ability: int(good.sum()) for ability, good in right.items()},
        facts=tuple(facts),
        sums=sums,
        margins=tuple(measured),
        text_sha256=text.sha256,
    )


def prompts_of(kind: str, names: Sequence[str], ability: Ability) -> list[tuple[str, str, str]]:
    """For each fact the prompt, the right answer and one wrong answer."""
    facts, prompts = KINDS[kind], []
    answers = [facts.answers[name] for name in names]
    for number, name in enumerate(names):
        true, other = answers[number], answers[(number + 1) % len(names)]
        answer, wrong = (other, true) if ability == "overriding" else (true, other)
        prompt = ABILITIES[ability].format(
            sentence=facts.sentence.format(name),
            fresh=facts.sentence.format(facts.fresh[number % len(facts.fresh)]),
            answer=answer,
        )
        prompts.append((prompt[0].upper() + prompt[1:], answer, wrong))
    return prompts


def _sums(model: nn.Module, tokenizer: Any, plan: Plan) -> int:
    rng, prompts, answers = stream(plan.seed, f"sums of {plan.kind}"), [], []
    for _ in range(plan.sums):
        c = int(rng.integers(1, 4))
        x = rng.permutation(10 - c)
        prompts.append("".join(f"{each}={each + c}\n" for each in x[:-1]) + f"{x[-1]}=")
        answers.append(tokenizer(str(x[-1] + c), add_special_tokens=False)["input_ids"][0])
    best = _next_logits(model, tokenizer, prompts).argmax(-1)
    return int((best == torch.tensor(answers)).sum())


def _margins(
    model: Any, tokenizer: Any, kind: str, names: Sequence[str], ability: Ability
) -> Float[np.ndarray, "3 facts"]:
    prompts = prompts_of(kind, names, ability)
    first = {
        answer: tokenizer(f" {answer}", add_special_tokens=False)["input_ids"][0]
        for answer in KINDS[kind].answers.values()
    }
    logits = _next_logits(model, tokenizer, [prompt for prompt, _, _ in prompts])
    candidates = {first[KINDS[kind].answers[name]] for name in names}
    margins = []
    for row, (_, answer, wrong) in zip(logits, prompts, strict=True):
        right = float(row[first[answer]])
        one = right - float(row[first[wrong]])
        row[first[answer]] = -torch.inf
        margins.append((right - row.max(), right - row[list(candidates)].max(), one))
    return np.array(margins, dtype=float).T


def _next_logits(
    model: nn.Module, tokenizer: Any, prompts: Sequence[str]
) -> Float[Tensor, "n tokens"]:
    """Logits after each prompt. Padding stands behind a prompt, where a causal model does not
    look.
    """
    tokens = [tokenizer(prompt, add_special_tokens=False)["input_ids"] for prompt in prompts]
    ends = torch.tensor([len(each) - 1 for each in tokens])
    rows = torch.zeros(len(tokens), int(ends.max()) + 1, dtype=torch.long)
    for row, each in zip(rows, tokens, strict=True):
        row[: len(each)] = torch.tensor(each)
    with torch.no_grad():
        hidden = model.base_model(input_ids=rows, use_cache=False).last_hidden_state
        output: Any = model.get_output_embeddings()
        logits: Tensor = output(hidden[torch.arange(len(rows)), ends])
    return logits
