"""Questions with answers in a text, as a model writes them to the paper's prompt (figure 23).

``[Question 1] … [Answer 1] … [Question 2] …``, also as ``Q1: …`` or ``Question: …``; the first mark
may be missing, as the prompt ends with it. Without any mark, lines alternate.
"""

from __future__ import annotations

import re

_MARK = re.compile(
    r"^[\s\[(*#]*(?:(?:counterfactual|correct)\s+)?(?P<kind>question|answer|q|a)[ _]*\d*"
    r"\s*[\]):*]+[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)


def parse_qa_text(text: str) -> list[dict[str, str]]:
    """Return the questions of a text in order, each with its answer; empty if it has none."""
    marks = list(_MARK.finditer(text))
    if not marks:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if not lines or len(lines) % 2:
            return []
        return [
            {"question": question, "answer": answer}
            for question, answer in zip(lines[::2], lines[1::2], strict=True)
        ]
    parts: list[tuple[bool, str]] = []
    if before := text[: marks[0].start()].strip():
        parts.append((True, before))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        end = following.start() if following else len(text)
        parts.append((mark["kind"][0].casefold() == "q", text[mark.end() : end].strip()))
    found: list[dict[str, str]] = []
    for is_question, words in parts:
        words = " ".join(words.split())
        if is_question:
            found.append({"question": words, "answer": ""})
        elif found and not found[-1]["answer"]:
            found[-1]["answer"] = words
    return found
