"""A user's memory graph as one self-contained web page."""

from theanine.cli.timeline_page.page import timeline_page

__all__ = ["timeline_page"]
