"""The page: what is remembered, why it was recalled, and how it changed, in a browser.

``static/`` has the page as it is served: modules of JavaScript without a build step, which call the
API of :mod:`theanine.server`. ``docs/page.md`` describes how it is built.
"""
