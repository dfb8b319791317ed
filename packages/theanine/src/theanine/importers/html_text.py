"""HTML as plain text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from theanine.importers.wording import wording

_WORDS = wording("html")
_SKIPPED, BLOCKS, VOID = (frozenset(_WORDS[each]) for each in ("hidden", "blocks", "void"))
_MAX_OPEN = 100
"""Tags that aren't closed with ">", of which a page of any program has next to none."""


def html_to_text(html: str, *, without_quotes: bool = False) -> str:
    """Return the text of HTML, a line a block; ``without_quotes`` puts ">" for a mail's quotes."""
    if html.count("<") - html.count(">") > _MAX_OPEN:  # the parser would take hours
        html = re.sub(r"<[^<>]*>", " ", html).replace("<", " ")
    parser = _TextParser(without_quotes)
    parser.feed(html)
    parser.close()
    lines = [re.sub(r"[ \t\r\f\v]+", " ", line).strip() for line in parser.text().split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _TextParser(HTMLParser):
    def __init__(self, without_quotes: bool) -> None:
        super().__init__(convert_charrefs=True)
        self._without_quotes = without_quotes
        self._pieces: list[str] = []
        self._skipped: list[str] = []
        self._preformatted = 0
        self._ended = False

    def text(self) -> str:
        return "".join(self._pieces)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipped:
            if tag not in VOID:
                self._skipped.append(tag)
            return
        if self._without_quotes and dict(attrs).get("id") in _WORDS["last"] and self.text().strip():
            self._ended = True
        is_quote = self._without_quotes and _is_quote(tag, attrs)
        if tag in _SKIPPED or is_quote:
            self._skipped.append(tag)
            if is_quote and "signature" not in (dict(attrs).get("class") or ""):
                self._pieces.append("\n>\n")
        elif tag in BLOCKS:
            self._pieces.append("\n- " if tag == "li" else "\n")
        elif tag in ("td", "th"):
            self._pieces.append(" ")
        self._preformatted += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            if tag in self._skipped:
                while self._skipped.pop() != tag:
                    pass
            return
        self._preformatted = max(0, self._preformatted - (tag == "pre"))
        if tag in BLOCKS and tag != "br":
            self._pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skipped and not self._ended:
            self._pieces.append(data if self._preformatted else re.sub(r"\s+", " ", data))


def _is_quote(tag: str, attrs: list[tuple[str, str | None]]) -> bool:
    values = dict(attrs)
    if tag == "blockquote":
        return values.get("type") == "cite" or "gmail_quote" in (values.get("class") or "")
    classes = f"{values.get('class') or ''} {values.get('name') or ''}".split()
    return any(
        name in _WORDS["quote_classes"] or name.endswith(tuple(_WORDS["quote_endings"]))
        for name in classes
    )
