"""Conditional memory (Yuan et al.): record turns that are worth it, reflect before a reply."""

from theanine.methods.conditional.config import ConditionalConfig
from theanine.methods.conditional.method import Conditional

__all__ = ["Conditional", "ConditionalConfig"]
