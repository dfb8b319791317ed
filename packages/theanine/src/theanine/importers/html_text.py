"""HTML as plain text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_SKIPPED = frozenset({"script", "style", "head", "title", "template"})
BLOCKS = frozenset({
    "p", "div", "br", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "pre",
    "blockquote", "section", "article", "hr", "dt", "dd", "header", "footer",
})  # fmt: skip
_QUOTE_CLASSES = (
    *("gmail_quote", "gmail_attr", "moz-cite-prefix", "protonmail_quote"),
    *("gmail_signature", "moz-signature", "protonmail_signature_block"),
)
_QUOTE_ENDINGS = ("yahoo_quoted", "yahoo-signature")  # after a prefix that differs
_LAST = ("divRplyFwdMsg", "appendonsend", "mail-editor-reference-message-container")
"""Ids of Outlook after which all is what an earlier mail said."""
_MAX_OPEN = 100
"""Tags that aren't closed with ">", of which a page of any program has next to none."""
VOID = frozenset({
    "br", "hr", "img", "input", "meta", "link", "area", "base", "col", "embed", "source", "wbr",
})  # fmt: skip


def html_to_text(html: str, *, without_quotes: bool = False) -> str:
    """Return the text of HTML, a line a block; ``without_quotes`` leaves out a mail's quotes."""
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
        if self._without_quotes and dict(attrs).get("id") in _LAST and self.text().strip():
            self._ended = True
        if tag in _SKIPPED or (self._without_quotes and _is_quote(tag, attrs)):
            self._skipped.append(tag)
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
    classes = (values.get("class") or "").split()
    return any(name in _QUOTE_CLASSES or name.endswith(_QUOTE_ENDINGS) for name in classes)
