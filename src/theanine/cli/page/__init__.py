"""One self-contained page to look at a memory graph: time across, relations named, sources."""

from theanine.cli.page.page import timeline_page

__all__ = ["timeline_page"]
