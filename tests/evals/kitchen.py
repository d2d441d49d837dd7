"""A small file of narrations with the columns of EPIC-KITCHENS-100, and its class files."""

from __future__ import annotations

import csv
from pathlib import Path

COLUMNS = (
    "narration_id", "participant_id", "video_id", "narration_timestamp", "start_timestamp", "stop_timestamp",
    "start_frame", "stop_frame", "narration", "verb", "verb_class", "noun", "noun_class", "all_nouns",
    "all_noun_classes",
)  # fmt: skip
VERBS = {0: ["take", "pick-up"], 1: ["put", "put-down", "put-on"], 2: ["wash"], 3: ["open"], 5: ["put-in", "move-in"]}
NOUNS = {
    2: ["plate", "dish"],
    3: ["cupboard", "cabinet"],
    4: ["knife"],
    5: ["pan"],
    6: ["lid"],
    0: ["tap"],
    8: ["drawer"],
    10: ["fork"],
    11: ["hand"],
    12: ["fridge", "refrigerator"],
    15: ["bottle"],
    29: ["pot"],
    38: ["salt"],
    42: ["counter"],
    70: ["drawer:dishwasher"],
    110: ["rack", "rack:drying"],
}

# start, end, narration, verb class, nouns
LINES = [
    (0.0, 2.0, "take plate", 0, ["plate"]),
    (3.0, 4.0, "put plate on counter", 1, ["plate", "counter"]),
    (5.0, 6.0, "open fridge", 3, ["fridge"]),
    (7.0, 8.0, "open cupboard", 3, ["cupboard"]),
    (14.0, 15.5, "put plate on drying rack", 1, ["plate", "rack:drying"]),
    (22.0, 23.0, "open cabinet", 3, ["cabinet"]),
    (24.0, 25.0, "open fridge", 3, ["fridge"]),
    (24.0, 26.0, "wash knife", 2, ["knife"]),
    (16.0, 17.0, "wash hands", 2, ["hand"]),
    (18.0, 19.0, "take knife and fork", 0, ["knife", "fork"]),
    (20.0, 23.5, "put down knife", 1, ["knife"]),
    (30.0, 31.0, "put on lid", 1, ["lid"]),
    (32.0, 33.0, "put back", 1, ["pan"]),
    (34.0, 35.0, "move salt in pan", 5, ["salt", "pan"]),
    (36.0, 37.0, "open the lid of the bottle", 3, ["lid", "bottle"]),
    (38.0, 39.0, "open the tap and wash the pot", 3, ["tap", "pot"]),
    (40.0, 41.0, "open drawer", 3, ["drawer"]),
    (42.0, 43.0, "open dishwasher drawer", 3, ["drawer:dishwasher"]),
]


def write_kitchen(folder: Path) -> Path:
    """Writes the narrations of a video V with the class files beside them, and returns their path."""
    number = {name: key for key, names in NOUNS.items() for name in names}
    path = folder / "narrations.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for i, (start, end, text, verb, nouns) in enumerate(LINES):
            classes = [number[noun] for noun in nouns]
            writer.writerow(
                {
                    "narration_id": f"V_{i}",
                    "participant_id": "P",
                    "video_id": "V",
                    "narration_timestamp": _clock(start),
                    "start_timestamp": _clock(start),
                    "stop_timestamp": _clock(end),
                    "start_frame": int(start * 60),
                    "stop_frame": int(end * 60),
                    "narration": text,
                    "verb": text.split()[0],
                    "verb_class": verb,
                    "noun": nouns[0],
                    "noun_class": classes[0],
                    "all_nouns": nouns,
                    "all_noun_classes": classes,
                }
            )
    for kind, classes_of in (("verb", VERBS), ("noun", NOUNS)):
        with (folder / f"EPIC_100_{kind}_classes.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "key", "instances", "category"])
            rows.writerows([key, names[0], names, ""] for key, names in classes_of.items())
    return path


def _clock(seconds: float) -> str:
    return f"00:{int(seconds) // 60:02d}:{seconds % 60:05.2f}"
