"""Memory update (Bae et al.): keep the list of statements up to date with every session."""

from theanine.methods.memory_update.config import MemoryUpdateConfig
from theanine.methods.memory_update.method import MemoryUpdate

__all__ = ["MemoryUpdate", "MemoryUpdateConfig"]
