"""The page of a segmentation run: beside published figures, and dialogue by dialogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from theanine_bench.analysis.tables import Table, load_tables
from theanine_bench.report.page import render_page

if TYPE_CHECKING:
    from theanine_bench.datasets.segmentation import SegmentedDialogue
    from theanine_bench.tasks.segmentation import SegmentationRun


def segmentation_page(
    run: SegmentationRun,
    dialogues: Sequence[SegmentedDialogue],
    *,
    title: str,
    about: Mapping[str, str],
    command: str,
) -> str:
    """The whole page as one HTML text that reaches for nothing outside itself.

    ``about`` is what was run, as names and values for people. Published figures of a table that
    ``title`` names come first; any other is there to be chosen.
    """
    published = [one for one in load_tables() if one.bench == "segmentation"]
    data = {
        "title": title,
        "about": list(about.items()),
        "command": command,
        "speed": run.turns_per_second,
        "measures": {name: asdict(one) for name, one in run.measures.items()},
        "published": [_table(one) for one in published],
        "named": next((one.id for one in published if _names(title, one)), ""),
        "items": [
            (item.id, dialogue.texts, item.gold, item.drawn, item.pk, item.wd)
            for item, dialogue in zip(run.items, dialogues, strict=True)
        ],
    }
    return render_page("segmentation.html", title=title, data=data, scripts=["segmentation.js"])


def _names(title: str, table: Table) -> bool:
    """Whether a file or set is called as the data of a table."""
    return table.id.removeprefix(f"{table.bench}-") in title.lower()


def _table(one: Table) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": f"{one.description.rpartition(', ')[2]} ({one.paper}, {one.location})",
        "columns": [column.measure for column in one.columns],
        "rows": [(row.label, row.values) for row in one.rows],
    }
