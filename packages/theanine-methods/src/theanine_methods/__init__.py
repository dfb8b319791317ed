"""Memory methods of published papers, and baselines, for theanine: found by their ids."""
