"""MemoryBank (Zhong et al.): exchanges, daily and global digests, a portrait, and forgetting."""

from theanine.methods.memorybank.config import MemoryBankConfig
from theanine.methods.memorybank.method import MemoryBank

__all__ = ["MemoryBank", "MemoryBankConfig"]
