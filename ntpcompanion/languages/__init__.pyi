from .text.corpus import read_text as read_text
from .text.segmentation import split_text as split_text
from .text.words import encode as encode
from .text.counting import count_contexts as count_contexts
from .text.counting import ContextCounts as ContextCounts
from .language import Language as Language
from .hmm import HMM as HMM
from .grammars.pcfg import PCFG as PCFG
from .pretrained.causal import CausalLanguage as CausalLanguage
from .pretrained.word_model import WordModel as WordModel
from .language import estimate_entropy_floor as estimate_entropy_floor
from .language import exact_entropy_floor as exact_entropy_floor
from .language import EntropyFloor as EntropyFloor
from .random_hmms import random_block_hmm as random_block_hmm
from .grammars.levelled_grammars import random_levelled_pcfg as random_levelled_pcfg
from .grammars.levelled_grammars import span_labels as span_labels
from .grammars.derivation import draw_derivation as draw_derivation
from .pretrained.hub import load_opt as load_opt

__all__ = [
    "read_text",
    "split_text",
    "encode",
    "count_contexts",
    "ContextCounts",
    "Language",
    "HMM",
    "PCFG",
    "CausalLanguage",
    "WordModel",
    "estimate_entropy_floor",
    "exact_entropy_floor",
    "EntropyFloor",
    "random_block_hmm",
    "random_levelled_pcfg",
    "span_labels",
    "draw_derivation",
    "load_opt",
]
