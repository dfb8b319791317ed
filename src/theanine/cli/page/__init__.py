"""Self-contained pages: the memory graph over time, methods side by side, and runs."""

from theanine.cli.page.compare import compare_page
from theanine.cli.page.diff import diff_page
from theanine.cli.page.page import timeline_page
from theanine.cli.page.retrieval import retrieval_page
from theanine.cli.page.run import run_page
from theanine.cli.page.segmentation import segmentation_page

__all__ = [
    "compare_page",
    "diff_page",
    "retrieval_page",
    "run_page",
    "segmentation_page",
    "timeline_page",
]
