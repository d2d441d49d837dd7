"""Citations are checked: what a claim cites must have been shown, and must bear the claim out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from amr.records import Claim, Evidence
from amr.retrieve.by_model.support import Cited, unsupported_by


@dataclass
class Checked:
    """The claims that hold, and the text of those that do not with the reason."""

    kept: list[Claim] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)


def check_claims(claims: Iterable[tuple[str, Sequence[int]]], shown: Mapping[int, Evidence]) -> Checked:
    """Sorts claims, given as texts with the ids they cite, by whether the evidence shown bears them out.

    An id that was not shown discredits its claim. Of a claim that holds, citations that add nothing are left out.
    """
    checked = Checked()
    for text, ids in claims:
        wanted = list(dict.fromkeys(ids))
        unknown = [number for number in wanted if number not in shown]
        if not wanted or unknown:
            reason = f"it cites {unknown[0]}, which was not shown" if unknown else "it cites nothing"
            checked.dropped.append((text, reason))
            continue
        cited = [Cited(shown[number]) for number in wanted]
        reason = unsupported_by(text, cited)
        if reason:
            checked.dropped.append((text, reason))
        else:
            checked.kept.append(Claim(text, [one.node_id for one in cited if one.says_something_of(text)], True))
    return checked


def is_borne_out(text: str, cited: Sequence[Evidence]) -> bool:
    """Whether a text says nothing that the evidence does not."""
    return bool(text.strip()) and not unsupported_by(text, [Cited(piece) for piece in cited])
