"""The memory graph as one self-contained page."""

from theanine.cli.timeline_page.page import timeline_page

__all__ = ["timeline_page"]
