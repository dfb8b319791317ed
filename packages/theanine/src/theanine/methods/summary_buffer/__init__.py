"""Summary buffer: the latest turns verbatim, and a running summary of all earlier ones."""

from theanine.methods.summary_buffer.config import SummaryBufferConfig
from theanine.methods.summary_buffer.method import SummaryBuffer

__all__ = ["SummaryBuffer", "SummaryBufferConfig"]
