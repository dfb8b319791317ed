"""The memory proxy: a provider's own API, with what is remembered in the newest user turn.

::

    request ─► log the user's turn ─► recall ─► append to the newest user turn ─► provider
                                                                                     │
    client  ◄───────────────────────── reply, byte for byte ◄────────────────────────┘
                                            └─► log the reply

What precedes the newest user turn stays as the client sent it, so a provider's prompt cache keeps
it. A memory that fails or is slow is left out, and a header of the answer says so.
"""
