"""A user's memory for clients of the Model Context Protocol, with the extra ``mcp``.

::

    client ─► MCPServer ─► tools      search → timeline → fetch: index, how it came about, the words
                        │             remember, correct, pin, forget
                        ├► resources  theanine://memory/ID, what ``fetch`` returns
                        └► page       ui://theanine/timeline.html, beside the text of ``timeline``

:func:`theanine_server.mcp.server.build_server` returns the server of both transports: ``theanine
mcp`` runs it on standard input and output, ``theanine serve`` over HTTP (``endpoint``).
"""
