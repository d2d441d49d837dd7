"""Draws the rooms, the things in them and the wearer's hands for `make_sample.py`.

Rooms are drawn once per state on a canvas of 1920 x 1080 units at twice that many pixels, so that the camera
can come close to a sign and the letters stay sharp. The same Pillow version draws the same pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

WIDTH, HEIGHT, SCALE = 1920, 1080, 2
WALL = (380, 150, 1540, 790)
"""The far wall: left, top, right, bottom. Floor, ceiling and side walls run from it to the canvas corners."""

Colour = tuple[int, int, int]
Point = tuple[float, float]
INK: Colour = (28, 30, 36)
WOOD: Colour = (150, 104, 66)
PAPER: Colour = (252, 250, 240)
SKIN: Colour = (226, 178, 146)
SLEEVE: Colour = (62, 84, 120)


class Pen:
    """Draws in canvas units on an image that has `SCALE` pixels to a unit."""

    def __init__(self, size: tuple[int, int], background: Colour | None = None) -> None:
        pixels = (size[0] * SCALE, size[1] * SCALE)
        self.image = Image.new("RGB", pixels, background) if background else Image.new("RGBA", pixels)
        self._draw = ImageDraw.Draw(self.image)

    def box(self, left: float, top: float, right: float, bottom: float, fill: Colour, radius: float = 0) -> None:
        """A filled rectangle, its corners rounded by `radius`."""
        self._draw.rounded_rectangle(
            [left * SCALE, top * SCALE, right * SCALE, bottom * SCALE], radius * SCALE, fill, outline=None
        )

    def shape(self, points: Sequence[Point], fill: Colour) -> None:
        """A filled polygon."""
        self._draw.polygon([(x * SCALE, y * SCALE) for x, y in points], fill)

    def oval(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        """A filled ellipse in its bounding box."""
        self._draw.ellipse([left * SCALE, top * SCALE, right * SCALE, bottom * SCALE], fill)

    def line(self, points: Sequence[Point], fill: Colour, width: float) -> None:
        """A line through the points."""
        self._draw.line([(x * SCALE, y * SCALE) for x, y in points], fill, round(width * SCALE), joint="curve")

    def words(self, x: float, y: float, lines: Sequence[str], size: float, fill: Colour = INK) -> None:
        """Centred lines of text around (x, y), in the font that comes with Pillow, thickened a little."""
        font = ImageFont.load_default(size * SCALE)
        for number, line in enumerate(lines):
            middle = y + (number - (len(lines) - 1) / 2) * size * 1.3
            place = (x * SCALE, middle * SCALE)
            stroke = size * SCALE * 0.03
            self._draw.text(place, line, fill, font, anchor="mm", stroke_width=stroke, stroke_fill=fill)

    def shadow(self, left: float, top: float, right: float, bottom: float) -> None:
        """A soft oval shadow, drawn before the thing that throws it."""
        margin = 20
        size = (round(right - left) + 2 * margin, round(bottom - top) + 2 * margin)
        mask = Image.new("L", (size[0] * SCALE, size[1] * SCALE))
        inner = [margin * SCALE, margin * SCALE, (size[0] - margin) * SCALE, (size[1] - margin) * SCALE]
        ImageDraw.Draw(mask).ellipse(inner, 110)
        mask = mask.filter(ImageFilter.GaussianBlur(8 * SCALE))
        self.image.paste(INK, (round((left - margin) * SCALE), round((top - margin) * SCALE)), mask)


def shade(colour: Colour, factor: float) -> Colour:
    """`colour` made darker (factor < 1) or lighter."""
    red, green, blue = (min(255, round(part * factor)) for part in colour)
    return red, green, blue


def _shell(wall: Colour, floor: Colour, board: int) -> Pen:
    """An empty room in one-point perspective, with floorboards that run away from the viewer."""
    left, top, right, bottom = WALL
    pen = Pen((WIDTH, HEIGHT), shade(wall, 0.9))
    pen.shape([(0, 0), (WIDTH, 0), (right, top), (left, top)], shade(wall, 1.12))
    pen.shape([(0, 0), (left, top), (left, bottom), (0, HEIGHT)], shade(wall, 0.82))
    pen.shape([(WIDTH, 0), (right, top), (right, bottom), (WIDTH, HEIGHT)], shade(wall, 0.86))
    pen.box(*WALL, wall)
    pen.shape([(left, bottom), (right, bottom), (WIDTH, HEIGHT), (0, HEIGHT)], floor)
    for step in range(board + 1):
        share = step / board
        far, near = left + (right - left) * share, WIDTH * share
        pen.line([(far, bottom), (near, HEIGHT)], shade(floor, 0.86), 2.5)
    pen.box(left, bottom - 16, right, bottom, shade(wall, 1.15))
    for inner, outer in ((left, 0), (right, WIDTH)):
        points: list[Point] = [(inner, bottom - 16), (inner, bottom), (outer, HEIGHT), (outer, HEIGHT - 28)]
        pen.shape(points, shade(wall, 1.05))
    return pen


def _doorway(pen: Pen, left: float, right: float, beyond: Colour) -> None:
    top, bottom = 300, WALL[3]
    pen.box(left - 18, top - 18, right + 18, bottom, shade(WOOD, 1.25))
    pen.box(left, top, right, bottom, shade(beyond, 0.72))
    middle = top + (bottom - top) * 0.72
    pen.shape([(left, bottom), (right, bottom), (right - 26, middle), (left + 26, middle)], shade(beyond, 0.5))


def _window(pen: Pen, left: float, top: float, right: float, bottom: float) -> None:
    pen.box(left - 14, top - 14, right + 14, bottom + 14, (244, 244, 240))
    pen.box(left, top, right, bottom, (170, 212, 240))
    pen.oval(left + 20, bottom - 60, left + 150, bottom + 40, (120, 170, 110))
    pen.box(left, bottom - 18, right, bottom, (112, 160, 102))
    middle = (left + right) / 2
    pen.box(middle - 5, top, middle + 5, bottom, (244, 244, 240))
    pen.box(left - 26, bottom + 14, right + 26, bottom + 28, (226, 226, 220))


def _table(pen: Pen, left: float, right: float, top: float, legs: float, colour: Colour) -> None:
    """A table seen from above its edge: the top is 90 units deep, its front edge at `top` + 90."""
    inset = (right - left) * 0.08
    pen.shadow(left, legs - 30, right, legs + 30)
    for x in (left + 20, right - 44):
        pen.box(x, top + 100, x + 24, legs, shade(colour, 0.7))
    pen.shape([(left + inset, top), (right - inset, top), (right, top + 90), (left, top + 90)], shade(colour, 1.12))
    pen.box(left, top + 90, right, top + 114, shade(colour, 0.85))


def phone(pen: Pen, x: float, y: float) -> None:
    """A phone lying flat, its middle at (x, y)."""
    pen.shadow(x - 52, y - 14, x + 56, y + 24)
    pen.shape([(x - 46, y - 20), (x + 32, y - 20), (x + 52, y + 18), (x - 40, y + 18)], (20, 22, 28))
    pen.shape([(x - 38, y - 15), (x + 28, y - 15), (x + 43, y + 12), (x - 33, y + 12)], (70, 120, 190))
    pen.box(x - 40, y + 18, x + 52, y + 24, (44, 46, 54))


def mug(pen: Pen, x: float, y: float) -> None:
    """A red mug standing on y."""
    red = (200, 56, 50)
    pen.shadow(x - 40, y - 16, x + 56, y + 12)
    pen.oval(x + 22, y - 66, x + 66, y - 20, red)
    pen.oval(x + 32, y - 56, x + 56, y - 30, (226, 200, 170))
    pen.box(x - 36, y - 80, x + 36, y, red, 12)
    pen.oval(x - 36, y - 90, x + 36, y - 68, shade(red, 0.7))
    pen.oval(x - 28, y - 86, x + 28, y - 71, (96, 60, 36))


def bowl(pen: Pen, x: float, y: float) -> None:
    """A shallow bowl standing on y."""
    pen.shadow(x - 70, y - 18, x + 70, y + 14)
    pen.shape([(x - 80, y - 52), (x + 80, y - 52), (x + 42, y), (x - 42, y)], (66, 140, 140))
    pen.oval(x - 80, y - 70, x + 80, y - 34, (46, 104, 106))


def keys(pen: Pen, x: float, y: float) -> None:
    """Three keys on a ring."""
    brass = (224, 182, 72)
    pen.oval(x - 30, y - 20, x + 6, y + 14, brass)
    pen.oval(x - 22, y - 12, x - 2, y + 6, (120, 96, 40))
    for slope in (-10, 4, 18):
        pen.line([(x, y), (x + 50, y + slope)], brass, 7)
        pen.line([(x + 42, y + slope), (x + 42, y + slope + 10)], brass, 6)


def glasses(pen: Pen, x: float, y: float) -> None:
    """A pair of glasses lying on a table."""
    for middle in (x - 30, x + 30):
        pen.oval(middle - 27, y - 19, middle + 27, y + 19, INK)
        pen.oval(middle - 20, y - 13, middle + 20, y + 13, (198, 214, 222))
    pen.line([(x - 56, y), (x - 76, y - 26)], INK, 5)
    pen.line([(x + 56, y), (x + 76, y - 26)], INK, 5)


def letter(pen: Pen, x: float, y: float) -> None:
    """A closed envelope with a stamp, its middle at (x, y)."""
    pen.box(x - 80, y - 50, x + 80, y + 50, shade(PAPER, 0.96), 4)
    pen.line([(x - 78, y - 48), (x, y + 6), (x + 78, y - 48)], (180, 176, 160), 4)
    pen.box(x + 48, y + 14, x + 70, y + 42, (190, 70, 70))


def book(pen: Pen, x: float, y: float) -> None:
    """An open book held up to be read."""
    pen.shape([(x - 190, y - 120), (x, y - 96), (x, y + 110), (x - 200, y + 84)], PAPER)
    pen.shape([(x + 190, y - 120), (x, y - 96), (x, y + 110), (x + 200, y + 84)], shade(PAPER, 0.95))
    pen.line([(x, y - 96), (x, y + 110)], (170, 160, 140), 5)
    for row in range(8):
        height = y - 78 + row * 19
        pen.line([(x - 168, height - 12), (x - 24, height + 6)], (150, 146, 138), 3)
        pen.line([(x + 24, height + 6), (x + 168, height - 12)], (150, 146, 138), 3)


def carton(pen: Pen, x: float, y: float) -> None:
    """A milk carton, its middle at (x, y)."""
    pen.box(x - 46, y - 80, x + 46, y + 90, (244, 246, 250), 4)
    pen.shape([(x - 46, y - 80), (x + 46, y - 80), (x + 26, y - 120), (x - 26, y - 120)], (208, 220, 236))
    pen.box(x - 46, y - 10, x + 46, y + 40, (60, 120, 200))


def coat(pen: Pen, x: float, y: float) -> None:
    """A coat hanging from a hook at (x, y)."""
    green = (72, 96, 66)
    pen.shape(
        [(x - 20, y), (x + 20, y), (x + 84, y + 60), (x + 70, y + 330), (x - 70, y + 330), (x - 84, y + 60)],
        green,
    )
    pen.line([(x, y + 10), (x, y + 326)], shade(green, 0.7), 5)
    for side in (-1, 1):
        pen.line([(x + side * 66, y + 70), (x + side * 78, y + 230)], shade(green, 0.8), 30)


Draw = Callable[[Pen, float, float], None]
THINGS: dict[str, Draw] = {
    "phone": phone, "mug": mug, "keys": keys, "glasses": glasses,
    "letter": letter, "book": book, "carton": carton, "coat": coat,
}  # fmt: skip


def landing() -> Pen:
    """The landing outside the flat: a closed front door with its number."""
    pen = _shell((206, 200, 188), (128, 122, 118), 10)
    pen.box(700, 210, 1220, 790, shade(WOOD, 0.6))
    pen.box(724, 232, 1196, 790, (58, 92, 84))
    for top, bottom in ((520, 640), (660, 770)):
        pen.box(764, top, 944, bottom, (50, 80, 73), 6)
        pen.box(976, top, 1156, bottom, (50, 80, 73), 6)
    pen.box(790, 280, 1130, 430, PAPER, 8)
    pen.words(960, 355, ["FLAT 214"], 64)
    pen.oval(1136, 540, 1172, 576, (214, 184, 96))
    pen.box(560, 740, 660, 790, (120, 80, 60), 8)
    pen.oval(540, 620, 680, 750, (74, 128, 76))
    return pen


def hallway() -> Pen:
    """The hallway: a small cabinet with the key bowl, coat hooks, the way to the kitchen."""
    pen = _shell((222, 206, 176), (160, 118, 80), 12)
    _doorway(pen, 860, 1110, (230, 222, 196))
    pen.box(1220, 300, 1480, 324, shade(WOOD, 0.8), 4)
    for x in (1260, 1350, 1440):
        pen.oval(x - 9, 318, x + 9, 340, (90, 90, 96))
    pen.box(470, 240, 720, 480, shade(WOOD, 0.8), 6)
    pen.box(486, 256, 704, 464, (196, 214, 222))
    pen.shape([(520, 464), (600, 256), (650, 256), (570, 464)], (216, 230, 236))
    _table(pen, 420, 780, 560, 830, WOOD)
    pen.box(450, 674, 750, 800, shade(WOOD, 0.75))
    pen.oval(588, 720, 612, 744, (214, 184, 96))
    bowl(pen, 600, 640)
    return pen


def kitchen() -> Pen:
    """The kitchen: counter, window, fridge with a note, and the table."""
    pen = _shell((200, 218, 214), (186, 178, 166), 14)
    _window(pen, 620, 220, 880, 430)
    pen.box(400, 540, 1080, 790, (238, 234, 224))
    pen.box(390, 520, 1090, 548, (92, 96, 104))
    for left in range(410, 1080, 168):
        pen.box(left, 566, left + 156, 776, (226, 220, 206), 6)
        pen.box(left + 60, 580, left + 96, 588, (120, 120, 124), 3)
    pen.box(1115, 190, 1525, 800, (150, 154, 160), 14)
    pen.box(1125, 200, 1515, 520, (226, 230, 234), 10)
    pen.box(1125, 530, 1515, 790, (226, 230, 234), 10)
    pen.box(1140, 370, 1152, 490, (120, 124, 130), 4)
    pen.box(1136, 264, 1504, 346, PAPER)
    pen.oval(1308, 250, 1332, 274, (200, 60, 60))
    pen.words(1320, 308, ["DENTIST FRIDAY 15:30"], 29)
    pen.box(1360, 384, 1460, 470, (120, 170, 200), 3)
    pen.shape([(1364, 466), (1398, 412), (1420, 440), (1436, 424), (1456, 466)], (92, 140, 96))
    _table(pen, 420, 1120, 800, 1060, WOOD)
    return pen


def living_room() -> Pen:
    """The living room: sofa, coffee table, television and the card with the network's password."""
    pen = _shell((214, 198, 204), (150, 112, 84), 12)
    pen.box(1100, 230, 1490, 466, INK, 8)
    pen.box(1114, 244, 1476, 452, (46, 52, 64))
    pen.box(900, 590, 1500, 780, shade(WOOD, 0.7), 6)
    pen.box(912, 610, 1190, 764, shade(WOOD, 0.85), 4)
    pen.box(1204, 610, 1488, 764, shade(WOOD, 0.85), 4)
    pen.box(1072, 510, 1520, 592, PAPER, 4)
    pen.words(1296, 551, ["WIFI PASSWORD: maple4821"], 32)
    blue = (74, 104, 150)
    pen.shadow(240, 880, 860, 960)
    pen.box(330, 480, 800, 760, shade(blue, 0.9), 30)
    pen.box(300, 660, 820, 900, blue, 24)
    pen.line([(560, 690), (560, 860)], shade(blue, 0.8), 5)
    pen.box(230, 600, 350, 920, shade(blue, 0.82), 26)
    pen.box(770, 620, 900, 920, shade(blue, 0.82), 26)
    pen.box(770, 600, 900, 690, shade(blue, 1.1), 26)
    pen.box(400, 230, 560, 420, (230, 222, 200), 4)
    pen.shape([(420, 400), (480, 300), (520, 350), (540, 400)], (110, 150, 130))
    _table(pen, 960, 1480, 850, 1050, shade(WOOD, 1.15))
    return pen


def study() -> Pen:
    """The study: bookshelf with a blue vase, desk with drawer, and a slip pinned to the wall."""
    pen = _shell((196, 206, 186), (138, 100, 72), 12)
    pen.box(420, 200, 860, 800, shade(WOOD, 0.55), 4)
    spines = ((176, 60, 56), (60, 96, 150), (216, 178, 84), (74, 128, 92), (120, 80, 130), (226, 220, 206))
    for row, top in enumerate((216, 366, 516, 666)):
        pen.box(438, top, 842, top + 126, shade(WOOD, 0.36))
        reach = 842 if row != 1 else 560
        for number, left in enumerate(range(446, reach - 30, 34)):
            height = 84 + (number * 37 + row * 23) % 36
            pen.box(left, top + 126 - height, left + 28, top + 126, spines[(number + row) % len(spines)], 2)
    pen.shape([(600, 492), (650, 492), (666, 440), (640, 400), (610, 400), (584, 440)], (40, 84, 190))
    pen.oval(608, 392, 642, 408, (26, 54, 130))
    _table(pen, 960, 1520, 640, 900, WOOD)
    pen.box(1240, 754, 1500, 840, shade(WOOD, 0.8), 4)
    pen.box(1340, 784, 1400, 796, (60, 60, 64), 4)
    pen.box(1000, 540, 1150, 660, (60, 64, 72), 8)
    pen.box(1010, 550, 1140, 640, (120, 160, 190))
    pen.box(1050, 260, 1480, 440, PAPER)
    pen.oval(1252, 250, 1278, 276, (60, 110, 200))
    pen.words(1265, 358, ["LIBRARY BOOKS", "DUE 12 MAY"], 48)
    return pen


ROOMS: dict[str, Callable[[], Pen]] = {
    "landing": landing, "hallway": hallway, "kitchen": kitchen, "living room": living_room, "study": study,
}  # fmt: skip


@lru_cache(maxsize=4)
def room_image(room: str, things: tuple[tuple[str, Point], ...]) -> Image.Image:
    """The room with the things that lie in it, each at its place in canvas units."""
    pen = ROOMS[room]()
    for name, (x, y) in things:
        THINGS[name](pen, x, y)
    light = np.linspace(1.05, 0.93, pen.image.height, dtype=np.float32)[:, None, None]
    pixels = np.asarray(pen.image, dtype=np.float32) * light
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


@lru_cache(maxsize=16)
def hand_image(holding: str) -> Image.Image:
    """The wearer's right hand reaching up from below, 420 x 640 units, fingertips near (210, 130)."""
    pen = Pen((420, 640))
    pen.shape([(150, 330), (300, 330), (390, 640), (130, 640)], SLEEVE)
    pen.shape([(146, 330), (306, 330), (316, 372), (142, 372)], shade(SLEEVE, 0.8))
    if holding:
        THINGS[holding](pen, 205, 130)
    pen.box(150, 190, 302, 350, SKIN, 50)
    for x, top in ((156, 132), (192, 118), (228, 122), (264, 140)):
        pen.box(x, top, x + 32, 260, shade(SKIN, 0.97), 16)
        pen.line([(x + 33, top + 40), (x + 33, 226)], shade(SKIN, 0.84), 3)
    pen.line([(160, 290), (112, 210)], SKIN, 36)
    pen.oval(94, 190, 132, 230, SKIN)
    return pen.image
