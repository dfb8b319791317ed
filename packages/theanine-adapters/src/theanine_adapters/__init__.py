"""Memory for other frameworks' agents, one module each; none is loaded by ``import theanine``.

Each takes the handle of a user, ``client.user("ana")``, of :func:`theanine.open` or, for code that
awaits, :func:`theanine.aopen`, and uses its public methods alone.
"""
