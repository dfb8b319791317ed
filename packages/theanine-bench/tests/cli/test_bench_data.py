"""`theanine bench data` and `bench fetch`, and sets by name in the benches."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.dataset_samples import locomo_questions
from support.history_samples import save
from support.offline.sitecustomize import attempts
from support.running import Terminal
from support.shelf import Shelf
from theanine_bench.datasets.fetching import fetch
from theanine_bench.datasets.registry import (
    PublicDataset,
    PublicFile,
    dataset_folder,
    dataset_state,
    get_dataset,
    public_datasets,
    resolve_data_path,
)

BENCHES = {"causaleval", "retrieval", "qa", "responses", "segmentation", "teafarm", "memory"}
PINNED = re.compile(r"/[0-9a-f]{40}/")
UNPINNED = {"coqa", "msc", "msc-valid"}  # their places have no revisions; their checksums are known


@pytest.fixture(autouse=True)
def cache(tmp_path: Path) -> Iterator[Path]:
    """A cache folder of the test's own, named as anyone would: in the environment."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    yield tmp_path / "cache" / "theanine" / "data"
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


def test_every_set_says_what_it_is_and_where(run: Terminal) -> None:
    shown = run.bare("bench", "data").out
    for one in public_datasets().values():
        assert one.name in shown
        assert one.description and one.license
        assert one.page.startswith("https://") or one.bundled
        assert one.benches and set(one.benches) <= BENCHES
        assert [bool(one.files), bool(one.manual_instructions), one.bundled].count(True) == 1


def test_every_file_is_pinned_or_held_to_a_known_checksum() -> None:
    for one in public_datasets().values():
        places = [file.path for file in one.files]
        assert len(places) == len(set(places))
        for file in one.files:
            assert PINNED.search(file.url) or one.name in UNPINNED
            assert file.sha256 or one.name not in UNPINNED
            assert re.fullmatch(r"|[0-9a-f]{64}", file.sha256)
            assert not Path(file.path).is_absolute() and ".." not in file.path
            assert file.unpack in ("", "tar", "zip")
            assert "{" not in file.url + file.path


def test_a_set_is_shown_with_its_place_and_how_to_get_it(run: Terminal, cache: Path) -> None:
    shown = run.bare("bench", "data", "beam-100k").out
    assert "chats/100K/1/chat.json and 59 others" in shown
    assert f"or put it at {cache / 'beam-100k' / 'chats'}" in shown
    told = run.bare("bench", "data", "msc", "--json").json
    assert (told[0]["here"], told[0]["benches"]) == ("absent", "responses, teafarm")
    wrong = run.bare("bench", "data", "nosuch", fine=False)
    assert (wrong.code, "no data set 'nosuch'; there are: locomo" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    "command",
    [
        ("bench", "qa", "locomo"),
        ("bench", "retrieval", "locomo"),
        ("bench", "responses", "locomo"),
        ("bench", "segmentation", "locomo"),
        ("bench", "memory", "locomo"),
        ("bench", "data", "locomo", "--check"),
        ("teafarm", "run", "locomo"),
        ("teafarm", "make", "locomo", "--out", "q.txt"),
    ],
)
def test_a_set_that_is_absent_is_told_in_one_line(run: Terminal, command: tuple[str, ...]) -> None:
    ran = run.bare(*command, fine=False)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert "locomo is not on this machine: `theanine bench fetch locomo` fetches it" in ran.err
    assert "2.8 MB, license: CC BY-NC 4.0" in ran.err


def test_a_name_that_is_neither_is_told_with_those_there_are(run: Terminal) -> None:
    ran = run.bare("bench", "qa", "locom", fine=False)
    assert (ran.code, "no file and no data set is called locom; the sets: locomo" in ran.err) == (
        2,
        True,
    )
    assert "No such file" in run.bare("bench", "qa", "missing.json", fine=False).err


def test_without_a_network_a_fetch_says_so_and_how_else(run: Terminal, cache: Path) -> None:
    ran = run.bare("bench", "fetch", "locomo", fine=False)
    assert attempts.pop()  # it was meant here
    attempts.clear()
    assert ran.code == 1
    assert "raw.githubusercontent.com" in ran.err
    assert (
        f"By hand: put the files of https://github.com/snap-research/locomo into {cache}" in ran.err
    )
    assert dataset_state(get_dataset("locomo")) == "absent"


def test_a_set_that_can_not_be_fetched_says_how_to_get_it(run: Terminal) -> None:
    ran = run.bare("bench", "fetch", "teabag", fine=False)
    assert (ran.code, "can't be fetched: take the file from the page" in ran.err) == (2, True)


@pytest.mark.slow
def test_what_is_put_there_by_hand_is_used_by_name(run: Terminal, cache: Path) -> None:
    one = get_dataset("long-mt-bench-plus")  # no checksum of it is known
    rows = [
        ("human", "I adopted a grey parrot called Pixel.", "pets-1-0"),
        ("human", "Who is Pixel?", "pets-1-Q"),
    ]
    said = [{"from": who, "value": text, "turn-info": info} for who, text, info in rows]
    record = {"id": "m1", "type": "retrospection", "conversations": said}
    exchange = "[human]: I adopted a grey parrot called Pixel.\n[bot]: How nice."
    history = {"conversation_id": "m1", "sessions": [[exchange]], "questions": ["Who is Pixel?"]}
    save(cache / one.name, "mtbenchplus.json", [record])
    assert dataset_state(one) == "incomplete"
    save(cache / one.name, one.data_path, [history])
    assert dataset_state(one) == "by hand"
    assert "1 question, unit turn" in run.bare("bench", "retrieval", one.name).out
    checked = run.bare("bench", "data", "--check").out
    assert "long-mt-bench-plus, as `bench qa` reads it: 1 history, 1 session, 2 turns" in checked
    assert "odd, taken as it is: 1 question without a reference answer" in checked
    listed = {row["name"]: row["here"] for row in run.bare("bench", "data", "--json").json}
    assert (listed[one.name], listed["locomo"]) == ("by hand", "absent")


def test_what_is_put_there_by_hand_must_be_the_published_one(run: Terminal, cache: Path) -> None:
    file = save(cache / "locomo", "locomo10.json", locomo_questions([["D2:1"]]))
    ran = run.bare("bench", "qa", "locomo", fine=False)
    assert (ran.code, "it is not the published file of locomo" in ran.err) == (2, True)
    assert run.bare("bench", "data", str(file), "--check").code == 0


def test_what_was_fetched_is_verified_at_every_use(cache: Path) -> None:
    with Shelf({"/a": b'{"words": 1}'}) as shelf:
        one = PublicDataset(
            name="locomo",
            description="",
            license="",
            page="",
            benches=("qa",),
            data_path="a.json",
            files=(PublicFile(url=f"{shelf.url}/a", path="a.json"),),
        )
        fetch(one, dataset_folder(one))
    listed = get_dataset("locomo")
    assert dataset_folder(one) == dataset_folder(listed) == cache / "locomo"
    assert dataset_state(one) == "fetched"
    assert dataset_state(listed) == "incomplete"
    ran = Terminal(cache / "none").bare("bench", "qa", "locomo", fine=False)
    assert "is incomplete" in ran.err


def test_a_fetched_file_that_changed_is_refused(run: Terminal, cache: Path) -> None:
    one = get_dataset("mt-bench-plus")
    with Shelf({"/mt": b"[]"}) as shelf:
        same = PublicFile(url=f"{shelf.url}/mt", path=one.data_path)
        fetched = PublicDataset(
            name=one.name,
            description="",
            license="",
            page="",
            benches=("qa",),
            data_path=one.data_path,
            files=(same,),
        )
        fetch(fetched, dataset_folder(one))
    assert resolve_data_path(Path(one.name)) == cache / one.name / one.data_path
    (cache / one.name / one.data_path).write_text("[1]")
    ran = run.bare("bench", "qa", one.name, fine=False)
    assert (ran.code, "differs from what was fetched" in ran.err) == (2, True)


def test_a_path_of_the_same_name_wins(tmp_path: Path) -> None:
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        (tmp_path / "locomo").mkdir()
        assert resolve_data_path(Path("locomo")) == Path("locomo")
    finally:
        os.chdir(before)
    assert resolve_data_path(Path("a/locomo")) == Path("a/locomo")


def test_only_so_many_histories_are_taken(run: Terminal, tmp_path: Path) -> None:
    [record] = locomo_questions([["D2:1"], ["D2:2"]])
    data = save(tmp_path, "four.json", [{**record, "sample_id": f"s{i}"} for i in range(4)])
    ran = run.bare(
        "bench", "qa", str(data), "--histories", "2", "--out", str(tmp_path / "run"), "--json"
    )
    assert ran.json["samples"] == 4
    items = (tmp_path / "run" / "items.jsonl").read_text()
    assert sorted(set(re.findall(r'"group": ?"(s\d)"', items))) == ["s0", "s2"]


def test_nothing_to_check_is_told(run: Terminal) -> None:
    ran = run.bare("bench", "data", "--check", fine=False)
    assert (ran.code, "no data set is here" in ran.err) == (2, True)
