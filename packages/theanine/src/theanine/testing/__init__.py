"""Test your agent against a scripted model: in this process, or over real HTTP on loopback.

``ScriptedServer`` speaks the APIs of OpenAI and Anthropic, and can fail in all ways that they can;
``ScriptedModel``, ``HashEmbedder`` and ``OverlapReranker`` need no server. All are deterministic.
``theanine.testing.contract`` is the contract that a method of your own can be held to.
"""

from theanine.embeddings.hashing import HashEmbedder, OverlapReranker
from theanine.testing.answers import answer
from theanine.testing.faults import (
    Outcome,
    Reply,
    big,
    delay,
    drop,
    empty,
    prose,
    refusal,
    status,
    truncate,
)
from theanine.testing.script import Script, by_step, step_of
from theanine.testing.scripted import ScriptedModel
from theanine.testing.server import Call, ScriptedServer

__all__ = [
    "Call",
    "HashEmbedder",
    "Outcome",
    "OverlapReranker",
    "Reply",
    "Script",
    "ScriptedModel",
    "ScriptedServer",
    "answer",
    "big",
    "by_step",
    "delay",
    "drop",
    "empty",
    "prose",
    "refusal",
    "status",
    "step_of",
    "truncate",
]
