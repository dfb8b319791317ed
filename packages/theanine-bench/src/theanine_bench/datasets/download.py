"""Downloads one file: streamed, bounded, gone on with after a cut where the server lets us.

What has come so far stands in ``NAME.part`` with the server's validator in ``NAME.part.tag``; it is
gone on with only while the server still has the same file, and otherwise begun anew.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO, Any, cast

import theanine
from theanine.errors import FetchFailed

Progress = Callable[[int, int | None], None]
"""Told how many bytes have come, and of how many; None where the server doesn't say."""
MAX_BYTES = 8_000_000_000
_BLOCK = 1 << 18
_ATTEMPTS = 4
_GONE = (404, 410)
_PASSING = (416, 429, 500, 502, 503, 504)


class _Cut(Exception):
    """The file came only in part, or not now; trying again may help."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file that is still coming."""

    path: Path

    @property
    def tag(self) -> Path:
        """Where the server's validator of it stands."""
        return self.path.with_name(f"{self.path.name}.tag")

    def begun(self) -> tuple[int, str]:
        """How much of it is here to go on with, and the validator; 0 for nothing."""
        if not self.path.is_file() or not self.tag.is_file():
            return 0, ""
        return self.path.stat().st_size, self.tag.read_text("utf-8")

    def drop(self) -> None:
        """Remove what is here of it."""
        self.path.unlink(missing_ok=True)
        self.tag.unlink(missing_ok=True)


def download(
    url: str,
    path: Path,
    *,
    progress: Progress = lambda done, total: None,
    limit: int = MAX_BYTES,
    patience: float = 30.0,
) -> bool:
    """Download a file to ``path``; False where the server says that there is none.

    A connection that is cut is gone on with a few times; what has come by then stays in
    ``path.part`` for the next call. ``patience`` is how many seconds the server may be silent.
    Raises FetchFailed where the server can't be reached, keeps failing, or sends over ``limit``.
    """
    part = Part(path.with_name(f"{path.name}.part"))
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in reversed(range(_ATTEMPTS)):
        try:
            if not _once(url, part, progress, limit, patience):
                return False
        except _Cut as cut:
            if not left:
                raise FetchFailed(f"{url} {cut}; the same command goes on with it") from None
            continue
        part.path.replace(path)
        part.drop()
        return True
    raise AssertionError("the last attempt returns or raises")


def _once(url: str, part: Part, progress: Progress, limit: int, patience: float) -> bool:
    start, validator = part.begun()
    headers = {"User-Agent": f"theanine/{theanine.__version__}", "Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": validator}
    answer = _asked(url, headers, part, patience)
    if answer is None:
        return False
    with answer:
        goes_on = answer.status == 206 and _from(answer.headers) == start
        if answer.status == 206 and not goes_on:
            part.drop()
            raise _Cut("sent another part of it than was asked for")
        _note(part, answer.headers)
        length = answer.headers.get("Content-Length")
        done = start if goes_on else 0
        total = None if length is None else done + int(length)
        if total is not None and total > limit:
            part.drop()
            raise FetchFailed(f"{url} has {total:,} bytes, over the {limit:,} that it may have")
        with part.path.open("ab" if goes_on else "wb") as out:
            _copy(answer, out, done, total, limit, progress)
    return True


def _copy(
    answer: IO[bytes], out: IO[bytes], done: int, total: int | None, limit: int, progress: Progress
) -> None:
    progress(done, total)
    while True:
        try:
            block = answer.read(_BLOCK)
        except (OSError, http.client.HTTPException) as error:
            raise _Cut(f"was cut off after {done:,} bytes ({error})") from None
        if not block:
            break
        done += len(block)
        if done > limit:
            raise FetchFailed(f"it has over {limit:,} bytes, more than it may have")
        out.write(block)
        progress(done, total)
    if total is not None and done != total:
        raise _Cut(f"was cut off after {done:,} of {total:,} bytes")


def _asked(
    url: str, headers: Mapping[str, str], part: Part, patience: float
) -> http.client.HTTPResponse | None:
    """The server's answer; None where it has no such file."""
    request = urllib.request.Request(url, headers=dict(headers))
    opener = urllib.request.build_opener(_Redirects)
    try:
        return cast("http.client.HTTPResponse", opener.open(request, timeout=patience))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in _GONE:
            return None
        if error.code == 416:  # all of it was here already, or it has become another file
            part.drop()
        if error.code in _PASSING:
            raise _Cut(f"could not be fetched (the server says {error.code})") from None
        raise FetchFailed(f"{url} could not be fetched: the server says {error.code}") from None
    except (OSError, http.client.HTTPException) as error:
        host = urllib.parse.urlsplit(url).netloc
        raise FetchFailed(f"{host} can't be reached: {getattr(error, 'reason', error)}") from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to http and https alone, and never from https back to http."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The request to follow with. Raises FetchFailed where it should not be followed."""
        to = urllib.parse.urlsplit(newurl).scheme
        if to not in ("http", "https") or (req.type == "https" and to == "http"):
            raise FetchFailed(f"{req.full_url} sends on to {newurl}, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _from(headers: Message) -> int | None:
    """Where the part that is sent begins."""
    first = (headers.get("Content-Range") or "").removeprefix("bytes ").partition("-")[0]
    return int(first) if first.isdecimal() else None


def _note(part: Part, headers: Message) -> None:
    """Keep what tells this file from a later one; a weak validator can't."""
    tag = headers.get("ETag") or ""
    validator = headers.get("Last-Modified") if tag.startswith("W/") or not tag else tag
    if validator:
        part.tag.write_text(validator, "utf-8")
    else:
        part.tag.unlink(missing_ok=True)
