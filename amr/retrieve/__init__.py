"""Anchor, answer: from a question to evidence."""
