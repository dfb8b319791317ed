"""A memory for conversational agents: hear, remember, link, recall, reply."""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
