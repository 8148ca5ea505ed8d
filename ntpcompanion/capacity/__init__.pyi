from .jacobian import logit_jacobian as logit_jacobian
from .jacobian import generic_rank as generic_rank
from .jacobian import rank_by_gap as rank_by_gap
from .injectivity import all_contexts as all_contexts
from .injectivity import attend_last as attend_last
from .injectivity import count_collisions as count_collisions
from .last_layer import fit_last_layer as fit_last_layer
from .last_layer import least_last_width as least_last_width
from .beginnings import Beginnings as Beginnings
from .beginnings import tabulate_beginnings as tabulate_beginnings
from .beginnings import paragraph_documents as paragraph_documents
from .beginnings import markov_documents as markov_documents
from .decoder import DecoderStack as DecoderStack
from .decoder import count_parameters as count_parameters
from .decoder import sinusoidal_positions as sinusoidal_positions
from .fitting import fit_decoders as fit_decoders

__all__ = [
    "logit_jacobian",
    "generic_rank",
    "rank_by_gap",
    "all_contexts",
    "attend_last",
    "count_collisions",
    "fit_last_layer",
    "least_last_width",
    "Beginnings",
    "tabulate_beginnings",
    "paragraph_documents",
    "markov_documents",
    "DecoderStack",
    "count_parameters",
    "sinusoidal_positions",
    "fit_decoders",
]
