"""Words: what a sentence says was done, by whom, to what and where; lemmas, names and handles."""
