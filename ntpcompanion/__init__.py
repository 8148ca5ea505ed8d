"""Companion to two papers on the implicit bias of next-token and masked-token prediction."""

__version__ = "0.1.0"
