"""Fitted estimators as files that are safe to open."""

from hypergauss.storage.models import load, save

__all__ = ["load", "save"]
