"""amr: memory for first-person video that answers with evidence."""

__version__ = "0.1.0"
