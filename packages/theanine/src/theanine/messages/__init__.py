"""Messages of chat models' APIs as utterances, and turns as messages.

Messages are read as OpenAI's chat completions and responses and Anthropic's messages have them.
Formats: the reference pages of these APIs, and the types of the packages ``openai`` (3.54) and
``anthropic``.
"""

from theanine.messages.pairing import without_unpaired
from theanine.messages.read import read_messages
from theanine.messages.write import write_messages

__all__ = ["read_messages", "without_unpaired", "write_messages"]
