"""Marks that services and models leave in the words of an answer, in whatever file it is.

Thoughts and what tools got are left out and noted, marks of what an answer cites are taken out, and
of a document the marks around it, whose title stays. What is written as code stays as it is.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import cast

from theanine.importers.wording import wording
from theanine.importers.words import THOUGHTS, TOOLS, is_prose

_MARKUP = wording("markup")
_CITED = re.compile(r" ?\ue200(\w*)\ue202?([^\ue201]*)\ue201| ?【[^【】]{0,80}†[^【】]{0,80}】")
"""ChatGPT's marks of what an answer cites: private characters round the kind and its arguments."""
_REFERENCE = re.compile(r"(?:turn\d+[a-z]+\d+,?)+|L\d+(?:-L?\d+)?|[\d.,:-]*")
_ATTRIBUTES = r"""(?:\s(?:"[^"]*"|[^"<>])*)?"""
_TITLE = re.compile(r"""\b(?:title|subject)=(?:"([^"]+)"|'([^']+)')""")
_HINT = re.compile(r"[<◁]|\[(?:cit|ref|T|\^)|oaicite|:::|turn0|googleusercontent|```\nThis")


def _element(kind: str) -> str:
    """Return the pattern of elements with all that is in them."""
    opening = rf"<(?P<{kind}>{'|'.join(_MARKUP[kind])}){_ATTRIBUTES}>"
    return rf"{opening}(?:(?!<(?P={kind})\b).)*?</(?P={kind})\s*>"


_THOUGHTS, _CARDS, _DOCUMENTS, _MARKS = (
    "|".join(_MARKUP[each]) for each in ("thoughts", "cards", "documents", "marks")
)
_MARK = re.compile(
    # At the start of a line a thought also ends with the next end, or with the text.
    rf"(?P<thought>(?:^[ \t]*<(?P<open>{_THOUGHTS}){_ATTRIBUTES}>.*?(?:</(?P=open)\s*>|\Z)"
    rf"|{_element('thoughts')}|{'|'.join(_MARKUP['other_thoughts'])})\s*)"
    rf"|(?P<mark>{_MARKS})"
    r"|(?P<code>^ {0,3}(?P<fence>```+|~~~+).*?(?:^ {0,3}(?P=fence)|\Z)|`[^`\n]+`)"
    rf"|(?P<tool>{_element('tools')}\s*)"
    rf"|(?P<card>{_element('cards')}|</?(?:{_CARDS}){_ATTRIBUTES}>)"
    rf"|(?P<document></?(?:{_DOCUMENTS})\b{_ATTRIBUTES}>)"
    r"|(?P<block>^:{3,}\w+\{[^{}\n]*\}[ \t]*\n(?P<body>(?:(?!^:::).)*)(?:^:{3,}[ \t]*$)?)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


def without_markup(text: str, notes: Counter[str]) -> str:
    """Return an answer without the marks in it, noting the words that are left out with them."""
    text = without_citations(text)
    if not _HINT.search(text):
        return text

    def shown(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        if kind == "code":
            return match[0]
        if kind in ("thought", "tool"):
            notes[THOUGHTS if kind == "thought" else TOOLS] += 1
            return ""
        if kind in ("document", "block"):
            title = _TITLE.search(match[0].partition("\n")[0] if match["body"] else match[0])
            named = (title[1] or title[2]) if title else ""
            body = _MARK.sub(shown, match["body"] or "")
            return f"{named}\n{body}" if named and body else named or body
        inner = re.sub(r"<[^<>]*>", " ", match[0]).strip() if kind == "card" else ""
        return f" {inner}" if is_prose(inner) else ""

    plain = _MARK.sub(shown, text)
    return text if plain == text else plain.strip()


def without_citations(text: str) -> str:
    """Return words without ChatGPT's marks of what they cite; names and labels in them stay."""
    if "\ue200" not in text and "†" not in text:
        return text

    def label(match: re.Match[str]) -> str:
        kind, arguments = match[1], match[2]
        if not kind or kind in ("cite", "filecite", "i", "video", "image_group"):
            return ""
        found: list[str] = []
        for argument in (arguments or "").split("\ue202"):
            try:
                value = json.loads(argument)
            except ValueError:
                value = argument
            if isinstance(value, list):
                items = cast("list[object]", value)
                value = items[1] if len(items) > 1 else items[0] if items else ""
            if isinstance(value, str) and not _REFERENCE.fullmatch(value):
                found.append(value)
        return f" {found[0]}" if found and match[0].startswith(" ") else "".join(found[:1])

    return re.sub(r"[\ue000-\uf8ff]", "", _CITED.sub(label, text))
