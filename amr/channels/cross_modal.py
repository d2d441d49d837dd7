"""cross_modal: where a person is only heard ↔ where they are only seen or told of (AMR-Graph §6.5).

An edge joins two appearances that follow each other, at most ten minutes apart: one of each modality, the earlier
first. So there is one edge wherever somebody comes into view after being heard or the other way round, and none
within a scene that is seen throughout. A person is the same by name, that is by handle; a voice without a name
(`voice_…`) is known by co-occurrence, from an event in which it is heard while somebody is seen. The wearer is left
out, who is there all the time.
"""

from __future__ import annotations

from amr.channels.chain import Seen
from amr.channels.links import Arrival, Link
from amr.records import WEARER

NAME = "cross_modal"
WITHIN_MS = 600_000
_SENSE = {"heard": "heard", "seen": "seen", "told": "seen"}


def link(new: Arrival) -> list[Link]:
    """One edge from each earlier appearance of the other modality, and way of knowing that it is the same person."""
    sense = _SENSE.get(new.node.payload["modality"])
    together: dict[tuple[int, str], tuple[Seen, list[str]]] = {}
    for person, previous in new.persons() if sense else ():
        other = _SENSE.get(previous.modality, sense)
        if person != WEARER and other != sense and new.gap_ms(previous) <= WITHIN_MS:
            how = "co-occurrence" if person.startswith("voice_") else "name"
            together.setdefault((previous.node_id, how), (previous, []))[1].append(person)
    return [
        Link(NAME, previous, {"gap_ms": new.gap_ms(previous), "how": how, "persons": sorted(persons)})
        for (_, how), (previous, persons) in together.items()
    ]
