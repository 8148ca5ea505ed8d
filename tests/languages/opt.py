"""A small OPT and its tokenizer, made here, and what a causal model says about strings, by full
passes without keys and values kept.
"""

import math

import numpy as np
import torch

from ntpcompanion.languages.pretrained.needed import needed

WORDS = ("the", "film", "is", "bad", "good", "not", "a", "what")
TOKENS = ("<unk>", "<pad>", "</s>", *WORDS, "rare")  # ids as in OPT: bos and end are both 2


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def scrambled(model):
    """Every weight random, so that no law is near uniform and no layer does nothing."""
    draws = generator(5)
    for parameter in model.parameters():
        parameter.data = 0.5 * torch.randn(parameter.shape, generator=draws)
    return model.eval().double()


def small_opt(**changes):
    sizes = {
        "hidden_size": 16,
        "word_embed_proj_dim": 16,
        "num_hidden_layers": 2,
        "ffn_dim": 24,
        "num_attention_heads": 2,
    }
    sizes |= {
        "vocab_size": len(TOKENS),
        "max_position_embeddings": 6,
        "bos_token_id": 2,
        "eos_token_id": 2,
        "pad_token_id": 1,
    }
    transformers = needed("transformers")
    return scrambled(transformers.OPTForCausalLM(transformers.OPTConfig(**sizes | changes)))


def small_gpt2():
    transformers = needed("transformers")
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 6, "vocab_size": 12}
    return scrambled(
        transformers.GPT2LMHeadModel(
            transformers.GPT2Config(**sizes, bos_token_id=2, eos_token_id=2)
        )
    )


def small_tokenizer(vocabulary=TOKENS):
    tokenizers, transformers = needed("tokenizers"), needed("transformers")
    words = tokenizers.models.WordLevel(
        {token: i for i, token in enumerate(vocabulary)}, unk_token="<unk>"
    )
    splitter = tokenizers.Tokenizer(words)
    splitter.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    names = {"bos_token": "</s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=splitter, **names)


def saved_with_text(folder, model, words, chances=(0.6, 0.2, 0.1, 0.05, 0.05)):
    """`source` and `text` of a plan: a model with its tokenizer, and words that it knows."""
    model.save_pretrained(folder / "model")
    small_tokenizer().save_pretrained(folder / "model")
    drawn = np.random.default_rng(0).choice(WORDS[:5], words, p=chances)
    (folder / "text.txt").write_text(" ".join(drawn), encoding="utf-8")
    return {"source": str(folder / "model"), "text": str(folder / "text.txt")}


def probability(model, sentence, words, bos, length, end=None):
    """Pr(sentence), a tuple of word numbers, factor by factor."""
    read = torch.tensor([[bos, *(words[i] for i in sentence)][:length]])
    with torch.no_grad():
        logits = model(input_ids=read, use_cache=False).logits[0].tolist()
    factors = []
    for t, scores in enumerate(logits if end is not None else logits[: len(sentence)]):
        weights = [math.exp(scores[word]) for word in words] + (
            [math.exp(scores[end])] if end is not None and t else []
        )
        factors.append(weights[sentence[t] if t < len(sentence) else -1] / math.fsum(weights))
    return math.prod(factors)
