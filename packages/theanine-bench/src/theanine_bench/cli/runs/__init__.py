"""`theanine bench`: the benches that ask a memory and measure its answers."""
