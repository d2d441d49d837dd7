"""The errors a person sees: one sentence that says what was wrong and what to do, and an exit code."""

from __future__ import annotations


class AmrError(Exception):
    """Anything that ends a command; `str(error)` is the sentence shown to the user."""

    exit_code = 1


class UsageError(AmrError):
    """The command was called in a way that cannot be carried out."""

    exit_code = 2


class BadInput(AmrError):
    """A file, folder or memory could not be read as what it should be."""

    exit_code = 3


class ProviderError(AmrError):
    """A model or its provider failed."""

    exit_code = 4
