"""`python -m ntpcompanion.experiments pretraining`: one run from the command line, also by several
processes under `torchrun`.
"""

import json
import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import torch
import typer

from ntpcompanion.experiments.same_loss import pretraining as experiment
from ntpcompanion.mlm.data.named_plans import LANGUAGE_PLANS, MODEL_PLANS, named
from ntpcompanion.mlm.training.distributed import joined
from ntpcompanion.mlm.training.training_plan import TrainingPlan

app = typer.Typer(add_completion=False)


@app.callback()
def main() -> None:
    """Experiments that several processes can share."""


@app.command()
def pretraining(
    language: Annotated[str, typer.Option(help=f"One of {', '.join(LANGUAGE_PLANS)}.")],
    model: Annotated[str, typer.Option(help=f"One of {', '.join(MODEL_PLANS)}.")],
    parameter: Annotated[
        list[str],
        typer.Option(
            "--parameter",
            "-p",
            help="Field of the training plan, NAME=VALUE; steps and batch_size are needed.",
        ),
    ],
    sentences: Annotated[int, typer.Option(help="Sentences of the test set.")] = 2000,
    evaluations: Annotated[
        int, typer.Option(help="How often the model is compared with the exact conditionals.")
    ] = 20,
    device: Annotated[
        str, typer.Option(help="cpu, cuda, cuda:1, …; auto is a GPU if there is one.")
    ] = "auto",
    folder: Annotated[
        Path | None,
        typer.Option(help="Where checkpoints are kept: the same command goes on after a kill."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A file for the result, as JSON.")] = None,
) -> None:
    """Train a masked language model on an exact language; one line of JSON for each evaluation.

    Several processes: torchrun --nproc-per-node 2 -m ntpcompanion.experiments pretraining … -p
    micro_batch=HALF_THE_BATCH
    """
    values = {
        "language": language,
        "model": model,
        "sentences": sentences,
        "evaluations": evaluations,
    }
    try:
        values["training"] = dict(_value(item) for item in parameter)
        _run(values, device, folder, out)
    except (ValueError, FloatingPointError, OSError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from error


def _run(values: dict[str, Any], device: str, folder: Path | None, out: Path | None) -> None:
    if out:
        # what cannot be written is found out before the training
        out.parent.mkdir(parents=True, exist_ok=True)
    with joined(device) as (processes, local_device):
        if local_device.type == "cpu" and "OMP_NUM_THREADS" not in os.environ:
            # as torchrun has it: small matrices do not gain from more, and suffer on a busy machine
            torch.set_num_threads(1)
        result = experiment.run(
            experiment.Plan.from_json({**values, "device": str(local_device)}),
            checkpoint=folder,
            processes=processes,
            report=lambda point: print(json.dumps(vars(point)), flush=True),
        )
        if out and not processes.rank:
            out.write_text(json.dumps(result.to_json(), indent=1) + "\n", encoding="utf-8")


def _value(item: str) -> tuple[str, Any]:
    """The name and the value of NAME=VALUE, which is JSON or, failing that, a word."""
    name, equals, text = item.partition("=")
    if not equals:
        raise ValueError(f"`--parameter` must be of the form NAME=VALUE, got {item!r}.")
    named("training", name, {field.name: field for field in fields(TrainingPlan)})
    try:
        return name, json.loads(text)
    except ValueError:
        return name, text


if __name__ == "__main__":
    app()
