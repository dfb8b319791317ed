"""Marks of services and models in the words of answers."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine.importers.markup import without_markup

MARKED = {
    "It leaves:contentReference[oaicite:0]{index=0}. At six. 【oaicite:1】": "It leaves. At six.",
    "[cite_start]It leaves.[cite: 1, 2] At six[citation:3].": "It leaves. At six.",
    "It leaves [^1^][2] at six.": "It leaves at six.",
    'It <cite index="1-2">leaves</cite>.': "It leaves.",
    "It leaves.\nhttp://googleusercontent.com/card_content/0": "It leaves.",
    'It leaves.<grok:render id="1">\n<argument>1</argument>\n</grok:render>': "It leaves.",
    'It leaves.<grok:render card_id="1"/>': "It leaves.",
    'See:<grok:render id="1"><argument name="caption">The two masts</argument></grok:render>': (
        "See: The two masts"
    ),
    '<antArtifact identifier="a" title="Log > 2">\nCalm.\n</antArtifact>': "Log > 2\nCalm.",
    ':::writing{variant="email" subject="Berth"}\nDear Bo,[cite: 1]\n:::\nSent.': (
        "Berth\nDear Bo,\n\nSent."
    ),
    "```\nThis block is not supported on your current device yet.\n```\nYes.": "Yes.",
    "Yes.<|im_end|>": "Yes.",
}
THOUGHTS = [
    "<think>So.</think>Yes.",
    "So.\n</think>\nYes.",
    "<antThinking>So.</antThinking>Yes.",
    "[THINK]So.[/THINK]Yes.",
    "◁think▷So.◁/think▷Yes.",
    "<|channel|>analysis<|message|>So.<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
]
KEPT = [
    "Write `<antThinking>` for that.",
    "The tag <think> begins it.",
    "```xml\n<think>So.</think> [cite: 1]\n```",
    "It ends with `</think>`.",
    "a[1] < b[2] ::: [^1]",
]


@pytest.mark.parametrize("text", MARKED)
def test_marks_are_taken_out(text: str) -> None:
    notes = Counter[str]()
    assert without_markup(text, notes) == MARKED[text]
    assert not notes


@pytest.mark.parametrize("text", THOUGHTS)
def test_thoughts_are_left_out_and_noted(text: str) -> None:
    notes = Counter[str]()
    assert without_markup(text, notes) == "Yes."
    assert notes == {"thoughts left out": 1}


def test_what_tools_got_is_left_out_and_noted() -> None:
    notes = Counter[str]()
    text = '<function_calls>\n<invoke name="x">\n</invoke>\n</function_calls>\nYes.'
    assert without_markup(text, notes) == "Yes."
    assert notes == {"tool calls and results left out": 1}


@pytest.mark.parametrize("text", KEPT)
def test_words_about_marks_stay(text: str) -> None:
    assert without_markup(text, Counter()) == text


@given(st.text(st.sampled_from('<>/think`:[]{}"ant Artifact\n=|'), max_size=60))
def test_any_words_are_read(text: str) -> None:
    assert isinstance(without_markup(text, Counter()), str)
