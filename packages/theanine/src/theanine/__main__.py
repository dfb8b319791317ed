"""``python -m theanine``: the command line."""

from theanine.cli import main

main()
