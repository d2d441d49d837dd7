"""Faults on demand: which requests the test server spoils, and how."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tests.support.model_server_answers import LIES

if TYPE_CHECKING:
    from collections.abc import Iterable

TRANSPORT = ("429", "500", "502", "503", "401", "hang", "slow", "reset", "cut_body")
"""Kinds that spoil the exchange. `seconds` is Retry-After for 429 and 503, how long to hang, or to be slow."""

CONTENT = (
    "truncated", "length", "fenced", "prose", "not_json", "wrong_types", "missing_keys", "extra_keys", "empty_choices",
    "empty", "refusal", "error_in_choice",
)  # fmt: skip
"""Kinds that spoil a reply of status 200: the first eight change its text."""


@dataclass(frozen=True)
class Fault:
    """Spoils the requests that it fits; a field left alone fits all.

    `kind` may be several; which one a request gets follows from the request. `times` is how often the same
    request is spoilt: 1 is transient (its repetition succeeds), None permanent. `probability` picks requests by
    their content and `seed`, not by arrival. `clip` is the index of the clip in the film, known from the codes;
    `at` any seconds [from, to) of the film in which the clip begins. `contains` is a part of the request's text
    (without media). `nth` are numbers of requests of the role (or of all, without `role`), from 1, by arrival.
    """

    kind: str | tuple[str, ...]
    role: str | None = None
    times: int | None = 1
    probability: float = 1.0
    seed: int = 0
    clip: int | tuple[int, ...] | None = None
    clip_seconds: float = 10.0
    at: tuple[float, float] | None = None
    contains: str | None = None
    nth: int | tuple[int, ...] | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        unknown = set(_many(self.kind)) - set(TRANSPORT) - set(CONTENT) - set(LIES)
        if unknown:
            raise ValueError(f"unknown kinds of fault: {sorted(unknown)}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Fault:
        values: dict[str, Any] = {key: tuple(item) if isinstance(item, list) else item for key, item in data.items()}
        return cls(**values)


@dataclass(frozen=True)
class Asked:
    """What a fault can know of a request."""

    role: str
    key: str
    text: str
    begin: float | None
    nth: int
    nth_of_role: int


@dataclass(frozen=True)
class Spoil:
    """The fault that a request gets."""

    kind: str
    seconds: float | None


class Faults:
    """The faults in force; thread-safe."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = list(faults)
        self._spent: Counter[tuple[int, str]] = Counter()

    def set(self, *faults: Fault) -> None:
        """Puts these faults in force instead of those before, none of them spent."""
        with self._lock:
            self._faults = list(faults)
            self._spent.clear()

    def clear(self) -> None:
        self.set()

    def take(self, asked: Asked) -> Spoil | None:
        """The fault of a request: the first that fits and is not spent."""
        with self._lock:
            for number, fault in enumerate(self._faults):
                if not _fits(fault, asked):
                    continue
                if fault.times is not None and self._spent[(number, asked.key)] >= fault.times:
                    continue
                self._spent[(number, asked.key)] += 1
                kinds = _many(fault.kind)
                return Spoil(kinds[int(_chance(fault.seed, asked.key, "kind") * len(kinds))], fault.seconds)
        return None


def _fits(fault: Fault, asked: Asked) -> bool:
    if fault.role is not None and fault.role != asked.role:
        return False
    if fault.nth is not None and (asked.nth if fault.role is None else asked.nth_of_role) not in _many(fault.nth):
        return False
    if fault.contains is not None and fault.contains not in asked.text:
        return False
    if fault.at is not None and (asked.begin is None or not fault.at[0] <= asked.begin < fault.at[1]):
        return False
    clip = None if asked.begin is None else int((asked.begin + 1e-6) // fault.clip_seconds)
    if fault.clip is not None and clip not in _many(fault.clip):
        return False
    return fault.probability >= 1 or _chance(fault.seed, asked.key, "victim") < fault.probability


def _many(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _chance(seed: int, key: str, purpose: str) -> float:
    digest = hashlib.blake2b(f"{seed}/{purpose}/{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def spoilt_text(text: str, kind: str) -> str:
    """A reply's text with a fault of the kinds that change it."""
    if kind in ("truncated", "length"):
        return text[: max(1, len(text) * 3 // 5)]
    if kind == "fenced":
        return f"```json\n{text}\n```"
    if kind == "prose":
        return f"Here is what I can see in the clip:\n\n{text}\n\nLet me know if you need anything else!"
    if kind == "not_json":
        return "I am sorry, I can only see a kitchen."
    if kind == "empty":
        return ""
    if kind not in ("wrong_types", "missing_keys", "extra_keys"):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return "[]"
    return json.dumps({"wrong_types": _wrong, "missing_keys": _missing, "extra_keys": _extra}[kind](value))


def _wrong(value: dict[str, Any]) -> Any:
    """Numbers become words; where there are none, the first list does."""
    before = json.dumps(value)
    changed = _without_numbers(value)
    if json.dumps(changed) != before:
        return changed
    first = next((key for key, item in value.items() if isinstance(item, list)), next(iter(value), "value"))
    return {**value, first: {"none": "of these"}}


def _without_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_numbers(item) for item in value]
    return "a while" if isinstance(value, int | float) and not isinstance(value, bool) else value


def _missing(value: dict[str, Any]) -> Any:
    """The list of events is left out, else the first key."""
    gone = "events" if "events" in value else next(iter(value), "")
    return {key: item for key, item in value.items() if key != gone}


def _extra(value: Any) -> Any:
    if isinstance(value, list):
        return [_extra(item) for item in value]
    if isinstance(value, dict):
        return {**{key: _extra(item) for key, item in value.items()}, "note": "not asked for"}
    return value
