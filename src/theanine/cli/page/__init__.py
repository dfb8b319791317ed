"""Self-contained pages: the memory graph over time, and methods side by side."""

from theanine.cli.page.compare import compare_page
from theanine.cli.page.page import timeline_page

__all__ = ["compare_page", "timeline_page"]
