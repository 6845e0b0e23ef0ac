"""Summaries by a model: asked for, verified by code, published; and the worker that does it."""

from sash.summarize.evidence import Evidence, Words
from sash.summarize.summarizer import Asked, Spent, Summarizer, Written, summarizer_of
from sash.summarize.transcript import SaidTurn

__all__ = ["Asked", "Evidence", "SaidTurn", "Spent", "Summarizer", "Words", "Written", "summarizer_of"]
