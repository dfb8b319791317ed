"""Self-contained HTML pages of runs and comparisons."""

from theanine_bench.report.compare import compare_page
from theanine_bench.report.diff import diff_page
from theanine_bench.report.retrieval import retrieval_page
from theanine_bench.report.run import run_page
from theanine_bench.report.segmentation import segmentation_page

__all__ = ["compare_page", "diff_page", "retrieval_page", "run_page", "segmentation_page"]
