"""Reads text in frames with the OCR models that ship inside RapidOCR, and believes only what looks like text."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from amr.config import TextInViewSettings
    from amr.records import Frame

READER_NAME = "rapidocr PP-OCRv6 small"

DETECTION_SIDE = 576
"""Short side in pixels at which text is looked for: 768 x 432 frames are enlarged to 1024 x 576.

Unenlarged costs half and loses letters on objects; 736 costs half as much again and reads no more.
"""

WORDS_PER_TEXT = 20
"""A text is cut between lines before it grows beyond this, so that the sentence about it stays short."""

LONGEST_NUMBER = 10
"""Digits in one word without a sign between them; more is a bar code or a counter burnt into the picture."""

CLOCK = re.compile(r"\b\d{1,2}(?::\d{2}){2,3}\b")
"""A clock that shows seconds, and so differs in every frame."""

LEAST_LENGTH = 1.3
"""Times its height that a line must be long to be read: what is as high as it is long is a letter or two, and
reading is what costs most on a table full of lettered things."""

SAME_TEXT = 0.85
"""Share of equal characters from which two readings are two attempts at the same text."""

_local = threading.local()


@dataclass(frozen=True)
class Line:
    """A line of text as read: its score from 0 to 1 and its upright box in pixels."""

    text: str
    score: float
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        """Pixels from top to bottom."""
        return self.bottom - self.top


@dataclass(frozen=True)
class Text:
    """One text of a clip: the lines of a block joined, the time of the frame it was read in, its lowest score."""

    text: str
    time_ms: int
    score: float


def read_text(frames: Sequence[Frame], settings: TextInViewSettings) -> list[Text]:
    """The texts in the frames, each once, in order of first sight and then in reading order."""
    texts: list[Text] = []
    for frame in frames:
        lines = [line for line in read_lines(frame.image) if is_believable(line, settings)]
        for block in blocks(lines):
            for part in _cut(block):
                words = " ".join(line.text for line in part)
                score = min(line.score for line in part)
                _add(texts, Text(words, frame.time_ms, score))
    return texts


def read_lines(image: NDArray[np.uint8]) -> list[Line]:
    """Everything in an RGB image that the OCR models take for a line of more than two letters."""
    reader = _reader()
    found = reader(image[:, :, ::-1], use_det=True, use_cls=False, use_rec=False)
    lines = []
    for box in found.boxes if found.boxes is not None else []:
        crop = _straight(image, box)
        if crop.shape[1] < LEAST_LENGTH * crop.shape[0]:
            continue
        result = reader(crop[:, :, ::-1], use_det=False, use_cls=False, use_rec=True)
        text = " ".join(unicodedata.normalize("NFKC", result.txts[0]).split()) if result.txts else ""
        if text:
            (left, top), (right, bottom) = box.min(axis=0).tolist(), box.max(axis=0).tolist()
            lines.append(Line(text, round(float(result.scores[0]), 3), left, top, right, bottom))
    return lines


def is_believable(line: Line, settings: TextInViewSettings) -> bool:
    """Whether a line is likely to be there: the reader invents single letters and signs on textless frames."""
    if line.score < settings.min_score or _letters(line.text) < settings.min_letters:
        return False
    return not any(_is_counter(word) for word in line.text.split())


def blocks(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines grouped into blocks of neighbours, blocks and lines in reading order: down, then right."""
    groups: list[list[Line]] = []
    for line in lines:
        near = [group for group in groups if any(_are_neighbours(line, other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([line, *(other for group in near for other in group)])
    ordered = [reading_order(group) for group in groups]
    return sorted(ordered, key=lambda group: (min(line.top for line in group), min(line.left for line in group)))


def reading_order(lines: Sequence[Line]) -> list[Line]:
    """Lines row by row from the top, each row from the left; lines of a row overlap by half their height."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.top + line.bottom, line.left)):
        if rows and _same_row(rows[-1][0], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in sorted(row, key=lambda line: (line.left, line.top))]


def _reader() -> Any:
    """This thread's own reader, for it keeps the size of its last image in itself.

    One thread inside it is cheapest: a second one takes twice the processor time for a fifth less waiting,
    and clips can be read side by side instead.
    """
    if not hasattr(_local, "reader"):
        import logging

        from rapidocr import RapidOCR

        logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
        _local.reader = RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.use_cls": False,
                "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
                "Det.limit_type": "min",
                "Det.limit_side_len": DETECTION_SIDE,
            }
        )
    return _local.reader


def _straight(image: NDArray[np.uint8], box: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The inside of a four-cornered box (clockwise from the upper left) as an upright RGB strip."""
    import numpy as np
    from PIL import Image

    sides = np.linalg.norm(box - np.roll(box, -1, axis=0), axis=1)
    size = (max(1, round(float(max(sides[0], sides[2])))), max(1, round(float(max(sides[1], sides[3])))))
    corners = [float(value) for corner in box[[0, 3, 2, 1]] for value in corner]
    strip = Image.fromarray(image).transform(size, Image.Transform.QUAD, corners, Image.Resampling.BICUBIC)
    upright = np.asarray(strip)
    return np.rot90(upright) if size[1] >= 1.5 * size[0] else upright


def _letters(text: str) -> int:
    """Letters and digits; a Chinese, Japanese or Korean character says as much as two letters."""
    wide = sum(unicodedata.east_asian_width(character) == "W" for character in text if character.isalnum())
    return sum(character.isalnum() for character in text) + wide


def _is_counter(word: str) -> bool:
    """A run of digits too long to be read by people; one in five may have been misread as a letter."""
    digits = sum(character.isdigit() for character in word)
    return word.isalnum() and len(word) > LONGEST_NUMBER and digits >= 0.8 * len(word)


def _same_row(one: Line, other: Line) -> bool:
    overlap = min(one.bottom, other.bottom) - max(one.top, other.top)
    return overlap > 0.5 * min(one.height, other.height)


def _are_neighbours(one: Line, other: Line) -> bool:
    """Side by side within two heights, or one under the other within one height."""
    height = max(one.height, other.height)
    apart = max(one.left, other.left) - min(one.right, other.right)
    below = max(one.top, other.top) - min(one.bottom, other.bottom)
    if _same_row(one, other):
        return apart < 2 * height
    return apart < 0 and below < height and min(one.height, other.height) > 0.4 * height


def _cut(block: Sequence[Line]) -> list[list[Line]]:
    parts: list[list[Line]] = []
    words = 0
    for line in block:
        count = len(line.text.split())
        if not parts or words + count > WORDS_PER_TEXT:
            parts.append([])
            words = 0
        parts[-1].append(line)
        words += count
    return parts


def _add(texts: list[Text], new: Text) -> None:
    """Add a reading, or join it with an earlier reading of the same text; the better one gives the words."""
    for index, old in enumerate(texts):
        if _is_same(old.text, new.text, old.time_ms != new.time_ms):
            texts[index] = _better(old, new)
            return
    texts.append(new)


def _is_same(one: str, other: str, apart: bool) -> bool:
    """Whether two readings are of one text: equal, or in frames apart, one the other's part or much alike.

    Alike are readings with the same digits, apart from those of a running clock.
    """
    if apart and _runs(one) and _runs(other):
        one, other = CLOCK.sub("", one), CLOCK.sub("", other)
    plain_one, plain_other = _plain(one), _plain(other)
    if not apart or plain_one == plain_other:
        return plain_one == plain_other
    if _is_part(one, other) or _is_part(other, one):
        return bool(plain_one and plain_other)
    if re.findall(r"\d", plain_one) != re.findall(r"\d", plain_other):
        return False
    return SequenceMatcher(None, plain_one, plain_other, autojunk=False).ratio() >= SAME_TEXT


def _better(old: Text, new: Text) -> Text:
    """A clock's last reading, the whole rather than its part, else the reading with the higher score."""
    if _runs(old.text) and _runs(new.text):
        return new
    plain_old, plain_new = _plain(old.text), _plain(new.text)
    if plain_old != plain_new and (_is_part(old.text, new.text) or _is_part(new.text, old.text)):
        return max(old, new, key=lambda text: len(text.text))
    return new if new.score >= old.score else old


def _is_part(part: str, whole: str) -> bool:
    """Whether a reading is a text half out of the picture: a piece of it, or each line cut short."""
    if _plain(part) in _plain(whole):
        return True
    words = whole.casefold().split()
    rests = iter("".join(words[first:]) for first in range(len(words)))
    return all(any(rest.startswith(begun) for rest in rests) for begun in part.casefold().split())


def _runs(text: str) -> bool:
    """Whether a clock with seconds is in the text: its last reading stands."""
    return CLOCK.search(text) is not None


def _plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()
