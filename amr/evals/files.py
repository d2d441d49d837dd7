"""Reading benchmark files, plain or packed by gzip; every fault is one sentence with the file and the place."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.media.lines import numbered_lines, opened


def required(path: Path | None, option: str, what: str, where: str) -> Path:
    """The file that an option names; BadInput says what it is and where to get it when it is not there."""
    if path is None:
        raise BadInput(f"Give {what} with {option}; {where}.")
    if not path.is_file():
        raise BadInput(f"{path} does not exist; {option} takes {what}: {where}.")
    return path


def find_data(given: Path | None, benchmark: str, names: Sequence[str], what: str, url: str) -> Path:
    """The benchmark's data: what `--data` names, else the first of `names` in `data/<benchmark>`.

    That folder is looked for where the command is run, then in the checkout. `names` may be patterns. BadInput says
    where to get the data and where to put it.
    """
    get = f"scripts/download_datasets.sh {benchmark} fetches it into data/{benchmark}/ from {url}"
    if given is not None:
        if given.exists():
            return given
        raise BadInput(f"{given} does not exist; --data takes {what}, and {get}.")
    for root in (Path(), Path(__file__).parents[2]):
        for name in names:
            for found in sorted((root / "data" / benchmark).glob(name)):
                return found
    raise BadInput(f"amr eval {benchmark} needs {what}: {get}, or name it with --data.")


def read_text(path: Path) -> str:
    """The text of a file. Raises BadInput."""
    with opened(path) as file:
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadInput(f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); convert it.") from error


def read_objects(path: Path, keys: Mapping[str, type | tuple[type, ...]]) -> list[dict[str, Any]]:
    """The objects of a JSON file that is one list. Raises BadInput when one lacks any of the keys."""
    try:
        found = json.loads(read_text(path))
    except ValueError as error:
        raise BadInput(f"{path} is not valid JSON ({error}); copy it again.") from error
    if not isinstance(found, list):
        raise BadInput(f"{path} is no list of questions; give the file as it was published.")
    for number, entry in enumerate(found, start=1):
        check_keys(entry, keys, f"{path}, question {number}")
    return found


def read_lines(path: Path, keys: Mapping[str, type | tuple[type, ...]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSONL file, each with words for its place in it. Raises BadInput."""
    with opened(path) as file:
        for number, _, raw in numbered_lines(file):
            place = f"{path}, line {number}"
            try:
                entry = json.loads(raw)
            except ValueError as error:
                raise BadInput(f"{place} is not valid JSON ({error}); correct or remove the line.") from error
            check_keys(entry, keys, place)
            yield place, entry


def check_keys(entry: Any, keys: Mapping[str, type | tuple[type, ...]], place: str) -> None:
    """Raises BadInput unless `entry` is an object that has the keys, with values of their types."""
    if not isinstance(entry, dict):
        raise BadInput(f"{place} is no JSON object; correct or remove it.")
    for key, kind in keys.items():
        if key not in entry:
            raise BadInput(f"{place} has no {key!r}; add it or remove the entry.")
        if not isinstance(entry[key], kind):
            raise BadInput(f"{place}: {key!r} is not of the right type; correct it.")


def read_rows(path: Path, columns: Iterable[str]) -> list[dict[str, str]]:
    """The rows of a CSV file. Raises BadInput when a column is missing or a row is too short."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    missing = [column for column in columns if column not in (reader.fieldnames or [])]
    if missing:
        raise BadInput(f"{path} has no column {', '.join(missing)}; give the file as it was published.")
    rows = []
    for row in reader:
        if None in row.values():
            raise BadInput(f"{path}, line {reader.line_num}: the row is too short; correct or remove it.")
        rows.append(row)
    return rows
