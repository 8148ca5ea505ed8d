from .beginnings import Beginnings as Beginnings
from .beginnings import tabulate_beginnings as tabulate_beginnings
from .beginnings import paragraph_documents as paragraph_documents
from .beginnings import markov_documents as markov_documents
from .decoder import DecoderStack as DecoderStack
from .decoder import count_parameters as count_parameters
from .fitting import fit_decoders as fit_decoders

__all__ = [
    "Beginnings",
    "tabulate_beginnings",
    "paragraph_documents",
    "markov_documents",
    "DecoderStack",
    "count_parameters",
    "fit_decoders",
]
