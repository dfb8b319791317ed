"""Download one file: from the Hugging Face Hub by huggingface_hub, from elsewhere by pooch."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO

import theanine
from theanine.errors import FetchFailed
from theanine.private_files import make_folder, owner_only

if TYPE_CHECKING:
    from requests import HTTPError, Response

Progress = Callable[[int, int | None], None]
"""Called with the bytes received so far and the file's size (None if unknown)."""
MAX_BYTES = 8_000_000_000
RETRIES = 3
_BLOCK = 1 << 18
_MISSING = (404, 410)
_TRANSIENT = (429, 500, 502, 503, 504)
_HUB = "https://huggingface.co"
_HUB_URL = re.compile(
    r"(?P<endpoint>https?://[^/]+)/datasets/(?P<repo>[^/]+/[^/]+)/resolve/"
    r"(?P<revision>[0-9a-f]{40})/(?P<file>.+)"
)


class _Missing(Exception):
    """The server has no such file."""


def download(
    url: str,
    path: Path,
    *,
    on_progress: Progress = lambda received, total: None,
    max_bytes: int = MAX_BYTES,
    timeout: float = 30.0,
    retries: int = RETRIES,
) -> bool:
    """Download a file to ``path`` and return True, or False if the server has no such file.

    After a dropped connection, files of the Hub resume and others start over, ``retries`` times.
    ``timeout`` is how many seconds the server may be silent.

    Raises FetchFailed if the server can't be reached, refuses, or sends more than ``max_bytes``.
    """
    make_folder(path.parent)
    try:
        if hub := _HUB_URL.fullmatch(url):
            _download_from_hub(hub, path, on_progress, max_bytes, timeout)
        else:
            _download_with_pooch(url, path, on_progress, max_bytes, timeout, retries)
    except _Missing:
        return False
    return True


def _download_with_pooch(
    url: str, path: Path, on_progress: Progress, max_bytes: int, timeout: float, retries: int
) -> None:
    from requests.exceptions import (
        HTTPError,
        InvalidSchema,
        RequestException,
        TooManyRedirects,
    )

    pooch: Any = import_module("pooch")
    total: int | None = None

    def check_response(response: Response, **_: object) -> None:
        nonlocal total
        if response.is_redirect:
            refuse_downgrade(response)
        elif length := response.headers.get("Content-Length"):
            total = int(length)
            _check_size(url, total, max_bytes)

    http = pooch.HTTPDownloader(
        chunk_size=_BLOCK,
        timeout=timeout,
        headers={"User-Agent": f"theanine/{theanine.__version__}", "Accept-Encoding": "identity"},
        hooks={"response": check_response},
    )

    def get(url: str, output_file: str, _: object) -> None:
        """Download once; errors that may pass are left for pooch to retry."""

        def on_write(received: int) -> None:
            on_progress(received, total)

        try:
            with open(output_file, "wb", opener=owner_only) as file:
                http(url, _BoundedFile(file, on_write, url, max_bytes), None)
        except HTTPError as error:
            _raise_if_permanent(error)
            raise
        except (InvalidSchema, TooManyRedirects) as error:
            raise FetchFailed(
                f"{url} redirects to where theanine doesn't follow: {error}"
            ) from None

    pooch.get_logger().setLevel("WARNING")
    source = pooch.create(
        path=path.parent,
        base_url="",
        registry={path.name: None},  # the caller checks the hash
        urls={path.name: url},
        retry_if_failed=retries,
    )
    try:
        source.fetch(path.name, downloader=get)
    except (RequestException, OSError) as error:
        raise FetchFailed(f"{url} can't be fetched: {error}") from None


def _download_from_hub(
    url: re.Match[str], path: Path, on_progress: Progress, max_bytes: int, timeout: float
) -> None:
    hub: Any = import_module("huggingface_hub")
    errors: Any = import_module("huggingface_hub.errors")
    constants: Any = import_module("huggingface_hub.constants")
    constants.HF_HUB_DISABLE_TELEMETRY = True  # otherwise it makes requests of its own
    utils: Any = import_module("huggingface_hub.utils")

    class Bar(utils.tqdm):
        """Reports to ``on_progress`` instead of drawing a bar."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "disable": True})  # pyright: ignore[reportUnknownMemberType]
            self._received: int = options.get("initial") or 0
            self._total: int | None = options.get("total")

        def update(self, n: float | None = 1) -> None:
            self._received += int(n or 0)
            on_progress(self._received, self._total)

    with TemporaryDirectory(prefix="incoming-", dir=path.parent) as folder:
        fetch = partial(
            hub.hf_hub_download,
            url["repo"],
            url["file"],
            repo_type="dataset",
            revision=url["revision"],
            local_dir=folder,
            endpoint=None if url["endpoint"] == _HUB else url["endpoint"],  # None: HF_ENDPOINT
            etag_timeout=timeout,
            token=False,
        )
        try:
            _check_size(url[0], fetch(dry_run=True).file_size or 0, max_bytes)
            os.replace(fetch(tqdm_class=Bar), path)
        except errors.LocalEntryNotFoundError as error:  # its name for an unreachable Hub
            raise FetchFailed(f"{url[0]} can't be fetched: {error.__cause__ or error}") from None
        except errors.EntryNotFoundError:
            raise _Missing from None
        except (errors.HTTPError, OSError, ValueError) as error:
            raise FetchFailed(f"{url[0]} can't be fetched: {error}") from None


class _BoundedFile:
    """A file to write to that reports each block and refuses to grow beyond a size."""

    def __init__(
        self, file: BinaryIO, on_write: Callable[[int], None], url: str, max_bytes: int
    ) -> None:
        self._file, self._on_write, self._url, self._max_bytes = file, on_write, url, max_bytes
        self._size = 0

    def write(self, block: bytes) -> None:
        self._size += len(block)
        _check_size(self._url, self._size, self._max_bytes)
        self._file.write(block)
        self._on_write(self._size)

    def flush(self) -> None:
        self._file.flush()


def _check_size(url: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise FetchFailed(f"{url} has at least {size:,} bytes; the limit is {max_bytes:,}")


def _raise_if_permanent(error: HTTPError) -> None:
    status = error.response.status_code if error.response is not None else 0
    if status in _MISSING:
        raise _Missing from None
    if status not in _TRANSIENT:
        raise FetchFailed(str(error)) from None


def refuse_downgrade(response: Response) -> None:
    """Raise FetchFailed for a redirect from https to http."""
    if response.url.startswith("https:") and response.headers["Location"].startswith("http:"):
        raise FetchFailed(f"{response.url} redirects to unencrypted {response.headers['Location']}")
