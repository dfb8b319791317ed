"""The page: what is remembered, why it was recalled, and how it changed, in a browser.

``static/`` has modules of JavaScript without a build step, of which :mod:`theanine.page.one_file`
makes one file with the data in it. theanine-server serves them, and answers what they ask it for.
``docs/page.md`` describes how the page is built.
"""
