"""Generation of test data by a language model, as the papers made theirs."""
