"""Self-contained HTML pages of runs and comparisons."""

from theanine_bench.report.compare import compare_page
from theanine_bench.report.diff import diff_page
from theanine_bench.report.retrieval import retrieval_page
from theanine_bench.report.run import run_page
from theanine_bench.report.segmentation import segmentation_page
from theanine_bench.runs.saved_run import SavedRun

__all__ = [
    "bench_page",
    "compare_page",
    "diff_page",
    "retrieval_page",
    "run_page",
    "segmentation_page",
]

_PAGES = {"compare": compare_page, "retrieval": retrieval_page, "segmentation": segmentation_page}


def bench_page(run: SavedRun) -> str:
    """Return the page of a run of any bench as one HTML text."""
    return _PAGES.get(run.bench, run_page)(run)
