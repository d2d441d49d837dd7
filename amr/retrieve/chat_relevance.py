"""How far a turn bears on a question, from 0 to 1, by the features that rank it.

Relevance says whether the answer may be there at all; ranks say where. `scripts/fit_chat_relevance.py` fits the
constants on questions that were put to the chat they are about, and to others.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np

from amr.resources import resource
from amr.retrieve.chat_features import Features
from amr.retrieve.scales import Ids, Values

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FEATURES = (
    "covers turn",
    "covers three",
    "covers from",
    "covers in session",
    "covers pairs",
    "covers pairs three",
    "covers telling",
    "means turn",
    "means three",
    "means in session",
    "means sharply",
    "content turn",
    "content three",
    "content in session",
    "whole turn",
    "whole three",
    "exact turn",
    "exact in session session",
    "alike three",
    "speaker",
    "near",
)
"""The features of turns that relevance goes by."""


@cache
def _constants() -> dict[str, Any]:
    return tomllib.loads(resource("configs/chat_relevance.toml").read_text(encoding="utf-8"))


def relevance_of(found: Features, places: Ids) -> Values:
    """The relevance of the turns at some places [m], given best first; none is believed more than the one before."""
    constants = _constants()
    weights = constants["weights"]
    logit = sum((weights[name] * found[name][places] for name in FEATURES), np.full(len(places), constants["bias"]))
    return np.asarray(np.round(np.minimum.accumulate(1 / (1 + np.exp(-logit))), 4), np.float64)
