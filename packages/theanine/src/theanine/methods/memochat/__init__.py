"""MemoChat (Lu et al.): memos of what was talked about, picked by the model before a reply."""

from theanine.methods.memochat.config import MemoChatConfig
from theanine.methods.memochat.method import MemoChat

__all__ = ["MemoChat", "MemoChatConfig"]
