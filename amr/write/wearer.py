"""Who wears the camera: the names under which sources speak of them, kept for each scope."""

from __future__ import annotations

import json
from collections.abc import Sequence

from amr.language.names import handle
from amr.media.source import Source
from amr.store import database
from amr.store.snapshot import wearer_key
from amr.store.writer import Writer


def settle_wearer(writer: Writer, sources: Sequence[Source], scope: str, named: Sequence[str]) -> None:
    """Gives every source the names of the scope's wearer: `named` ones, those known, else those the sources tell.

    A scope is one life: a source that somebody else recorded gets a warning.
    """
    with database.reading(writer.directory) as snapshot:
        known = snapshot.wearer(scope)
    told = next((source.wearer for source in sources if source.wearer), ())
    names = list(dict.fromkeys([*known, *named] or told))
    if names != list(known):
        writer.set_meta(wearer_key(scope), json.dumps(names, ensure_ascii=False))
    handles = {handle(name) for name in names}
    for source in sources:
        if source.wearer and not handles & {handle(name) for name in source.wearer}:
            source.warnings.append(
                f"{source.name} was recorded by {source.wearer[0]}, but the wearer in the scope {scope} is "
                f"{names[0]}; give each person a scope of their own with --scope."
            )
        source.wearer = tuple(names)
