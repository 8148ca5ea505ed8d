"""A training step against Hugging Face's BERT of the same shape; probes; on a GPU, the share of its
matrix rate, and stacks of small networks as CUDA graphs.
"""

import time
from collections.abc import Callable
from statistics import median
from unittest.mock import patch

import torch
import torch.nn.functional as F

from ntpcompanion.languages.pretrained.needed import needed
from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.data.masked_sentences import batch_generator, draw_batch
from ntpcompanion.mlm.data.named_plans import LANGUAGE_PLANS
from ntpcompanion.mlm.probes.probe_plan import ProbePlan
from ntpcompanion.mlm.probes.trained_heads import trained_heads
from ntpcompanion.mlm.training import stacked_training
from ntpcompanion.mlm.training.cuda_graph import as_cuda_graph
from ntpcompanion.mlm.training.regularizers import AdversarialPlan, adversary
from ntpcompanion.mlm.training.train import masked_loss, train
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.language_model import FIRST_WORD
from ntpcompanion.networks.network_plan import ModelPlan, TransformerSize
from ntpcompanion.networks.stack import initial_stack
from tests.benchmarks.timing import MOST, about, clocked

PART = "Networks"


def steps(width, heads, layers):
    """A step of ours and one of BertForMaskedLM: same sentences with the same mask each, V = 200,
    17 positions with CLS, batch 256, float32, no dropout, the same fused AdamW.
    """
    transformers = needed("transformers")
    plan = ModelPlan("transformer", width, layers, heads, 4 * width, words=200, positions=16)
    model = build_model(plan, 0)
    bert = transformers.BertForMaskedLM(
        transformers.BertConfig(
            vocab_size=203,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=4 * width,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            max_position_embeddings=17,
        )
    ).train()
    batch = draw_batch(
        LANGUAGE_PLANS["hmm-100"].build(), 256, 16, 0.0, batch_generator(0, "training", 0)
    )
    tokens = torch.nn.functional.pad(batch.tokens + FIRST_WORD, (1, 0), value=202)
    labels = torch.full_like(tokens, -100).scatter(
        1, batch.positions + 1, batch.targets + FIRST_WORD
    )
    losses = (lambda: masked_loss(model, batch), lambda: bert(input_ids=tokens, labels=labels).loss)

    def step(network, loss):
        optimizer = torch.optim.AdamW(network.parameters(), 1e-3, fused=True)

        def once():
            loss().backward()
            optimizer.step()
            optimizer.zero_grad()

        return once

    return step(model, losses[0]), step(bert, losses[1])


def against_bert(timing, width, heads, layers):
    ours, theirs = steps(width, heads, layers)
    timing.pair(
        ("mlm.train", ours),
        ("BertForMaskedLM", theirs),
        at_least=1.3,
        note="Hugging Face's model of the same shape with the same optimizer.",
    )


@about("A training step, width 64, 1 layer, 256 sentences", PART, busy=False)
def test_step_64(timing):
    against_bert(timing, 64, 1, 1)


@about("A training step, width 128, 4 layers, 256 sentences", PART)
def test_step_128(timing):
    against_bert(timing, 128, 2, 4)


@about("A training step, width 256, 3 layers, 256 sentences", PART, busy=False)
def test_step_256(timing):
    against_bert(timing, 256, 4, 3)


@about("A probe: 20,000 examples × 256 features, 50 classes, 20 epochs", PART, threads=2)
def test_probe(timing):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(1, 21_000, 256, generator=generator)
    labels = (features[0] @ torch.randn(256, 50, generator=generator)).argmax(1)
    train, test = features[:, :20_000], features[:, 20_000:]
    learned, posterior = labels[:20_000], F.one_hot(labels[20_000:], 50).double()
    plan, found = ProbePlan(epochs=20), []

    def probe():
        found.append(trained_heads(train, learned, test, posterior, plan, generator))

    took = [clocked(probe) for _ in range(3)]
    assert float(found[-1]) > 0.5
    timing.amount("s", took, at_most=3.0)


@about("Training on a GPU: share of its matrix rate, width 1024", PART, listed=False)
def test_gpu_share(timing):
    """FLOPs of the matrix products of both passes, as torch counts them, over the rate of a large
    product; its own process needs a GPU.
    """
    from torch.utils.flop_counter import FlopCounterMode  # loads much that only this needs

    spec, batch, count, parts = LANGUAGE_PLANS["hmm-100"], 2048, 30, 7
    language = spec.build("cuda")
    plan = ModelPlan("transformer", 1024, 8, 16, 4096, words=spec.words, positions=spec.length)
    model = build_model(plan, 0, "cuda")
    drawn = draw_batch(language, batch, spec.length, 0.0, batch_generator(0, "training", 0, "cuda"))
    with FlopCounterMode(display=False) as counter:
        masked_loss(model, drawn).backward()
    training = TrainingPlan((parts + 1) * count, batch, precision="bfloat16", compile=True)
    stops = range(count, training.steps, count)
    trained = train(plan, training, language, device="cuda", eval_steps=stops)
    next(trained)  # the first part translates the model
    work, peak = counter.get_total_flops() * count, matrix_rate()
    # not `seconds` of the states, which leave out the wait for the GPU at a stop
    rates = [work / clocked(lambda: next(trained)) for _ in range(parts)]
    timing.amount(
        "of the rate",
        [rate / peak for rate in rates],
        at_least=0.4,
        note=f"{median(rates) / 1e12:.0f} of {peak / 1e12:.0f} TFLOP/s; bfloat16, torch.compile",
    )


def stacked_steps(seeds, device, adversarial, count, compute_as) -> Callable[[], object]:
    """A call makes `count` steps of networks of width 32, as the study of models of the same loss
    makes them: batches of 128, exact labels. `compute_as` stands for `as_cuda_graph`.
    """
    spec, device = LANGUAGE_PLANS["hmm-8"], torch.device(device)
    language, term = spec.build(device), None
    shape = TransformerSize(32, 2, 4).for_sentences(spec.words, spec.length)
    if adversarial:
        generator = torch.Generator(device).manual_seed(0)
        tokens, states = language.sample_with_states(8000, generator, device)
        plans = [AdversarialPlan(1e-3, 10.0, 120, 60)] * len(seeds)
        term = adversary(plans, seeds, LabelledExamples(tokens, states[:, 0], spec.states))
    plan = TrainingPlan(count * (MOST + 2), 128, learning_rate=1e-2, weight_decay=0.0)
    stops, start = range(0, plan.steps, count), initial_stack(shape, seeds, device)
    trained = stacked_training.train_stack(
        start, plan, language, seeds, "timed", labels="exact", term=term, eval_steps=stops
    )
    with patch.object(stacked_training, "as_cuda_graph", compute_as):
        next(trained)
    return lambda: next(trained).loss.tolist()  # waits for the GPU


def as_graph(timing, seeds, *, device="cuda", adversarial=False, count=50):
    """Steps as one CUDA graph against the same kernels, launched one by one."""
    graph, launched = (
        stacked_steps(seeds, device, adversarial, count, compute_as)
        for compute_as in (as_cuda_graph, lambda compute, _: compute)
    )
    timing.pair(
        ("one CUDA graph", graph),
        ("kernel by kernel", launched),
        at_least=2.0,
        note=f"{count} steps; drawing the sentences, their exact labels, and AdamW are included.",
    )


@about("50 steps of ten networks of width 32, on a GPU", PART, busy=False, listed=False)
def test_gpu_stack(timing):
    as_graph(timing, range(10))


@about("50 steps of 24 networks against an adversary, on a GPU", PART, busy=False, listed=False)
def test_gpu_adversary(timing):
    as_graph(timing, [seed % 8 for seed in range(24)], adversarial=True)


def matrix_rate(n=8192, repeats=20):
    """FLOP/s of a bf16 product of two n × n matrices."""
    a = torch.randn(n, n, device="cuda", dtype=torch.bfloat16)
    a @ a
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(repeats):
        a @ a
    torch.cuda.synchronize()
    return repeats * 2 * n**3 / (time.perf_counter() - began)
