"""Stripping what a mail quotes of earlier mails, and signatures.

Cautious rather than thorough: a line is only taken away when its form says that it is a quote, so
that no word of the writer is lost. Forwarded mails stay.
"""

from __future__ import annotations

import re

_ORIGINAL = re.compile(
    r"\s*-{3,}\s*(?:Original[- ]?(?:Message|nachricht)|Ursprüngliche Nachricht|Message d'origine|"
    r"Mensaje original|Messaggio originale|Mensagem original|Oorspronkelijk bericht)\s*-{3,}\s*",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"[*\s]*(?:From|Sent|To|Cc|Subject|Date|Von|Gesendet|An|Betreff|Datum|De|Envoyé|À|Objet|Enviado"
    r"|Para|Asunto|Assunto|Da|Inviato|A|Oggetto|Van|Verzonden|Aan|Onderwerp)\s?:[*\s].*",
)
_SIGNATURE = re.compile(r"--\s?")
_UNDERSCORES = re.compile(r"\s*_{20,}\s*")


def strip_quotes(text: str) -> str:
    """Return a mail's text without quoted replies and signature."""
    lines = text.replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines):
        headers = lines[number : number + 3]
        begins = len(headers) == 3 and all(_HEADER.fullmatch(each) for each in headers)
        if begins and number and _UNDERSCORES.fullmatch(lines[number - 1]):
            lines = lines[: number - 1]
            break
        if begins or _ORIGINAL.fullmatch(line) or _SIGNATURE.fullmatch(line):
            lines = lines[:number]
            break
    kept: list[str] = []
    for number, line in enumerate(lines):
        if not line.startswith(">"):
            kept.append(line)
        elif number and not lines[number - 1].startswith(">"):
            _drop_introduction(kept)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _drop_introduction(kept: list[str]) -> None:
    """Take away "On 8 May 2024, Bo <bo@example.org> wrote:" above a quote, on up to three lines."""
    while kept and not kept[-1].strip():
        kept.pop()
    for count in (1, 2, 3):
        paragraph = kept[-count:]
        if len(paragraph) < count or any(not line.strip() for line in paragraph):
            return
        joined = " ".join(paragraph)
        if not joined.rstrip().endswith(":"):
            return
        if re.search(r"\d", joined) and (
            count == 3 or "@" in joined or re.search(r"\d{4}", joined)
        ):
            del kept[-count:]
            return
