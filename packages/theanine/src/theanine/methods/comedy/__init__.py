"""COMEDY (Chen et al.): compress session memories into events, portrait and relation."""

from theanine.methods.comedy.config import ComedyConfig
from theanine.methods.comedy.method import Comedy

__all__ = ["Comedy", "ComedyConfig"]
