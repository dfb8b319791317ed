"""Fetching public sets from a real server on loopback, with what can go wrong on the way."""

from __future__ import annotations

import io
import os
import tarfile
import time
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from requests import Response

from support.shelf import Shelf, hub_path
from theanine.errors import BadInput, FetchFailed, NotFound
from theanine_bench.datasets.checksums import FILE_NAME, Checksums
from theanine_bench.datasets.download import refuse_downgrade
from theanine_bench.datasets.fetching import fetch
from theanine_bench.datasets.registry import PublicDataset, PublicFile
from theanine_bench.datasets.unpacking import unpack

TALK = b'{"talk": "The boat is sold."}\n' * 2_000


def a_set(*files: PublicFile, reads: str = "talk.json", by_hand: str = "") -> PublicDataset:
    return PublicDataset(
        name="talks",
        description="talks",
        license="none",
        page="the talks' page",
        benches=("qa",),
        data_path=reads,
        files=files,
        manual_instructions=by_hand,
    )


def talk(shelf: Shelf, path: str = "/talk.json", **known: object) -> PublicFile:
    return PublicFile(url=shelf.url + path, path="talk.json", **known)  # pyright: ignore[reportArgumentType]


def left(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("path", ["/talk.json", hub_path("talk.json")])
def test_a_file_comes_whole_and_is_not_fetched_again(tmp_path: Path, path: str) -> None:
    progress: list[tuple[str, int, int | None]] = []

    def on_progress(path: str, received: int, total: int | None) -> None:
        progress.append((path, received, total))

    with Shelf({path: TALK}) as shelf:
        dataset = a_set(talk(shelf, path, sha256=sha256(TALK).hexdigest(), size=len(TALK)))
        first = fetch(dataset, tmp_path, on_progress=on_progress)
        again = fetch(dataset, tmp_path)
        assert len(shelf.asked) == 1
    assert (tmp_path / "talk.json").read_bytes() == TALK
    assert (first.fetched, first.first_seen, again.unchanged) == (
        ("talk.json",),
        (),
        ("talk.json",),
    )
    assert progress[-1] == ("talk.json", len(TALK), len(TALK))
    assert left(tmp_path) == {"talk.json", FILE_NAME}


def test_an_unknown_checksum_is_recorded_and_holds(tmp_path: Path) -> None:
    with Shelf({"/talk.json": TALK}) as shelf:
        dataset = a_set(talk(shelf))
        assert fetch(dataset, tmp_path).first_seen == ("talk.json",)
        assert Checksums.load(tmp_path).files == {"talk.json": sha256(TALK).hexdigest()}
        (tmp_path / "talk.json").write_bytes(b"changed")
        with pytest.raises(BadInput) as fault:
            Checksums.load(tmp_path).verify(tmp_path)
        assert fault.value.where == str(tmp_path / "talk.json")
        shelf.files = {"/talk.json": b"others"}
        with pytest.raises(FetchFailed, match="gave other bytes than expected"):
            fetch(dataset, tmp_path)
        shelf.files = {"/talk.json": TALK}
        assert fetch(dataset, tmp_path).fetched == ("talk.json",)
    Checksums.load(tmp_path).verify(tmp_path)


@pytest.mark.parametrize("path", ["/talk.json", hub_path("talk.json")])
def test_a_wrong_checksum_or_size_keeps_nothing(tmp_path: Path, path: str) -> None:
    with Shelf({path: TALK}) as shelf:
        with pytest.raises(FetchFailed, match=f"SHA-256 {sha256(TALK).hexdigest()}, expected 00"):
            fetch(a_set(talk(shelf, path, sha256="00")), tmp_path)
        with pytest.raises(FetchFailed, match="60,000 bytes where 60,001 are expected"):
            fetch(a_set(talk(shelf, path, size=60_001)), tmp_path)
        with pytest.raises(FetchFailed, match="60,000 bytes; the limit is 59,999"):
            fetch(a_set(talk(shelf, path, size=59_999)), tmp_path)
        if path == "/talk.json":
            shelf.lengths = False
            with pytest.raises(FetchFailed, match="the limit is 1,000"):
                fetch(a_set(talk(shelf)), tmp_path, max_bytes=1_000)
    assert left(tmp_path) == set()


def test_a_cut_connection_is_tried_again(tmp_path: Path) -> None:
    with Shelf({"/talk.json": TALK}, cut=lambda n: 25_000 if n < 2 else None) as shelf:
        fetch(a_set(talk(shelf)), tmp_path)
        assert len(shelf.asked) == 2
        shelf.cut = lambda n: 25_000
        with pytest.raises(FetchFailed, match="talks is not fetched"):
            fetch(a_set(talk(shelf)), tmp_path / "other", retries=0)
    assert (tmp_path / "talk.json").read_bytes() == TALK
    assert left(tmp_path / "other") == set()


def test_a_file_of_the_hub_resumes_where_the_connection_was_cut(tmp_path: Path) -> None:
    path, block = hub_path("talk.json"), 10 * 1024 * 1024
    large = TALK * (block // len(TALK) + 2)
    with Shelf({path: large}, cut=lambda n: block + 1 if n < 2 else None) as shelf:
        fetch(a_set(talk(shelf, path)), tmp_path)
        assert [wanted for _, wanted in shelf.asked] == ["", f"bytes={block}-"]
    assert (tmp_path / "talk.json").read_bytes() == large
    assert left(tmp_path) == {"talk.json", FILE_NAME}


def test_a_passing_failure_is_retried_and_a_lasting_one_raised(tmp_path: Path) -> None:
    with Shelf({"/talk.json": TALK}, failing={"/talk.json": 1}) as shelf:
        fetch(a_set(talk(shelf)), tmp_path / "one")
        shelf.failing["/talk.json"] = 99
        with pytest.raises(FetchFailed, match=r"talks is not fetched.*503"):
            fetch(a_set(talk(shelf)), tmp_path / "two", retries=1)
        assert len(shelf.asked) == 2 + 2


@pytest.mark.parametrize("prefix", ["/", hub_path("")])
def test_a_missing_file_fails_unless_it_is_optional(tmp_path: Path, prefix: str) -> None:
    with Shelf({"/talk.json": TALK}) as shelf:
        extra = PublicFile(url=f"{shelf.url}{prefix}cut.json", path="cut.json", optional=True)
        assert fetch(a_set(talk(shelf), extra), tmp_path).missing == ("cut.json",)
        gone = a_set(PublicFile(url=f"{shelf.url}{prefix}gone.json", path="gone.json"))
        with pytest.raises(FetchFailed, match=r"gone\.json doesn't exist.*the talks' page"):
            fetch(gone, tmp_path)
        assert len(shelf.asked) <= 3


def test_redirects_are_followed_but_not_to_files_of_this_machine(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with Shelf({"/talk.json": TALK}) as shelf:
        shelf.moved = {
            "/old.json": f"{shelf.url}/talk.json",
            "/file.json": secret.as_uri(),
            "/round.json": f"{shelf.url}/round.json",
        }
        fetch(a_set(talk(shelf, "/old.json")), tmp_path / "one")
        with pytest.raises(FetchFailed, match="redirects to where theanine doesn't follow"):
            fetch(a_set(talk(shelf, "/file.json")), tmp_path / "two")
        with pytest.raises(FetchFailed, match="redirects to where theanine doesn't follow"):
            fetch(a_set(talk(shelf, "/round.json")), tmp_path / "three")
    assert (tmp_path / "one" / "talk.json").read_bytes() == TALK


def test_a_redirect_from_https_to_http_is_refused() -> None:
    response = Response()
    response.url = "https://example.org/talk.json"
    response.headers["Location"] = "http://example.org/talk.json"
    with pytest.raises(FetchFailed, match="unencrypted"):
        refuse_downgrade(response)
    response.headers["Location"] = "/other.json"
    refuse_downgrade(response)


def test_an_unreachable_server_is_named(tmp_path: Path) -> None:
    with Shelf({}) as shelf:
        dataset = a_set(talk(shelf))
    with pytest.raises(FetchFailed, match=r"127\.0\.0\.1.*By hand"):
        fetch(dataset, tmp_path, retries=0)


def test_a_silent_server_times_out(tmp_path: Path) -> None:
    with Shelf({"/talk.json": TALK}, lengths=False) as shelf:
        late = shelf.answer

        def silent(to: object) -> None:
            time.sleep(0.4)
            late(to)  # pyright: ignore[reportArgumentType]

        shelf.answer = silent
        with pytest.raises(FetchFailed, match="timed out"):
            fetch(a_set(talk(shelf)), tmp_path, timeout=0.1, retries=0)


def test_what_was_put_there_by_hand_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_bytes(b"mine")
    with Shelf({"/talk.json": TALK}) as shelf:
        with pytest.raises(BadInput, match="put there by hand"):
            fetch(a_set(talk(shelf)), tmp_path)
        (tmp_path / "talk.json").write_bytes(TALK)
        known = a_set(talk(shelf, sha256=sha256(TALK).hexdigest()))
        assert fetch(known, tmp_path).unchanged == ("talk.json",)
        assert shelf.asked == []
    assert Checksums.load(tmp_path).files == {"talk.json": sha256(TALK).hexdigest()}


def test_a_set_without_a_place_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="talks can't be fetched: ask the authors; put it at "):
        fetch(a_set(by_hand="ask the authors"), tmp_path)


def tarred(**members: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_an_archive_is_unpacked_and_each_file_of_it_held_to_its_sum(
    tmp_path: Path, kind: str
) -> None:
    pack = tarred if kind == "tar" else zipped
    archive = pack(**{"talks/a.json": TALK, "talks/b/c.json": b"{}", "__MACOSX/x": b"noise"})
    with Shelf({"/talks": archive}) as shelf:
        file = PublicFile(url=f"{shelf.url}/talks", path="talks.packed", unpack=kind)
        one = a_set(file, reads="talks")
        fetch(one, tmp_path)
        assert fetch(one, tmp_path).unchanged == ("talks.packed",)
        assert left(tmp_path) == {"talks/a.json", "talks/b/c.json", FILE_NAME}
        (tmp_path / "talks/a.json").unlink()
        assert fetch(one, tmp_path).fetched == ("talks.packed",)
    assert (tmp_path / "talks/a.json").read_bytes() == TALK


@pytest.mark.parametrize("kind", ["tar", "zip"])
@pytest.mark.parametrize(
    "name", ["../outside", "/outside", "a/../../outside", "..\\outside", "C:\\outside", "C:outside"]
)
def test_an_archive_that_reaches_outside_is_refused_whole(
    tmp_path: Path, kind: str, name: str
) -> None:
    pack = tarred if kind == "tar" else zipped
    with Shelf({"/talks": pack(**{"fine.json": b"{}", name: b"out"})}) as shelf:
        file = PublicFile(url=f"{shelf.url}/talks", path="talks.packed", unpack=kind)
        with pytest.raises(FetchFailed, match="reaches outside its folder"):
            fetch(a_set(file), tmp_path / "data" / "talks")
    assert left(tmp_path) == set()


@pytest.mark.parametrize("type", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, type: bytes) -> None:
    archive = tmp_path / "talks.tar"
    with tarfile.open(archive, "w") as tar:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = type, "/etc/passwd"
        tar.addfile(info)
    with pytest.raises(FetchFailed, match="'link', which is no plain file"):
        unpack(archive, "tar", tmp_path / "out")


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "talks.zip"
    with zipfile.ZipFile(archive, "w") as file:
        info = zipfile.ZipInfo("link")
        info.external_attr = 0o120777 << 16
        file.writestr(info, "/etc/passwd")
    with pytest.raises(FetchFailed, match="'link', which is no plain file"):
        unpack(archive, "zip", tmp_path / "out")


def test_an_archive_that_is_too_much_or_broken_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "talks.tar"
    archive.write_bytes(tarred(a=b"x" * 600, b=b"x" * 600))
    with pytest.raises(FetchFailed, match="holds more than expected"):
        unpack(archive, "tar", tmp_path / "out", max_bytes=1_000)
    archive.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(FetchFailed, match="is no whole tar archive"):
        unpack(archive, "tar", tmp_path / "out")
    archive.write_bytes(b"no archive")
    with pytest.raises(FetchFailed, match="is no whole zip archive"):
        unpack(archive, "zip", tmp_path / "out")
    assert not (tmp_path / "out" / "a").exists()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["..", ".", "a", "b", ""]), min_size=1, max_size=5), st.booleans())
def test_nothing_is_ever_written_outside_the_folder(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], rooted: bool
) -> None:
    around = tmp_path_factory.mktemp("around")
    archive = around / "talks.tar"
    archive.write_bytes(tarred(**{("/" if rooted else "") + "/".join(parts): b"words"}))
    try:
        places = unpack(archive, "tar", around / "deep" / "folder")
    except FetchFailed:
        places = []
    written = left(around) - {"talks.tar"}
    assert written == {f"deep{os.sep}folder{os.sep}{place}" for place in places}
