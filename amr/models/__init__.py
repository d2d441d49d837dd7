"""The models that ship with amr, behind small functions."""
