# /// script
# requires-python = ">=3.10"
# dependencies = ["pillow==13.0.0", "numpy==2.4.6", "imageio-ffmpeg==0.8.1", "espeakng-loader==0.2.4"]
# ///
"""Makes `data/sample.mp4`: a drawn first-person walk of 90 s through a flat, with voice and subtitles.

    python scripts/make_sample.py [data/sample.mp4]

The story is in `STORY` and `LINES` below. The versions named above give the same picture and sound each
time. Only this script needs them: espeak-ng speaks here and is no dependency of the package.
"""

from __future__ import annotations

import ctypes
import math
import subprocess
import sys
import tempfile
import wave
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import espeakng_loader
import imageio_ffmpeg
import numpy as np
from PIL import Image
from sample_rooms import HEIGHT, SCALE, WIDTH, Point, hand_image, room_image

SECONDS, FRAMES_PER_SECOND = 90, 15
FRAME = (960, 540)
FADE_SECONDS = 0.5
REACH_SECONDS = 1.4
VOICE, VOICE_RATE, WORDS_PER_MINUTE = "en-us", 22050, 130

LINES: list[tuple[float, str]] = [
    (1.0, "I come home with a letter in my hand."),
    (6.0, "I open the front door."),
    (11.2, "I put my keys in the bowl by the door."),
    (16.0, "I hang my coat on the hook."),
    (20.8, "I walk into the kitchen."),
    (23.4, "I put my phone on the kitchen table next to the mug."),
    (30.2, "I take the milk out of the fridge."),
    (34.6, "I pour some milk into the mug."),
    (38.0, "I take my phone from the kitchen table."),
    (42.0, "I walk into the living room."),
    (44.4, "I put my phone on the arm of the sofa."),
    (53.0, "I put my glasses on the coffee table."),
    (57.6, "I take my phone from the arm of the sofa."),
    (62.0, "I go into the study."),
    (64.4, "I put my phone on the bookshelf next to the blue vase."),
    (75.0, "I put the letter in the desk drawer."),
    (80.6, "I go back to the living room."),
    (84.0, "I sit down on the sofa and read my book."),
]
"""What the voice says and the subtitles show: start in seconds, words. The signs in view are never spoken."""


@dataclass(frozen=True)
class Look:
    """Where the camera looks at a time: the middle of the view, and how much closer than the whole room."""

    time: float
    x: float
    y: float
    zoom: float


@dataclass(frozen=True)
class Handling:
    """A hand brings (`puts`) or takes a thing at a place; at `time` it is there and turns back.

    The thing lies in the room from then on, or until then. `stays` is false for what is put out of sight.
    """

    time: float
    thing: str
    place: Point
    puts: bool
    stays: bool = True


@dataclass(frozen=True)
class Scene:
    """A stay in a room, until the next scene starts."""

    start: float
    room: str
    looks: tuple[Look, ...]
    handlings: tuple[Handling, ...] = ()
    lying: dict[str, Point] = field(default_factory=dict)
    carried: tuple[tuple[float, float, str], ...] = ()
    """Things held in view: from, until, thing."""


MUG = (640.0, 868.0)
KITCHEN_TABLE = (790.0, 856.0)
SOFA_ARM = (835.0, 618.0)
BOOKSHELF = (745.0, 470.0)
COFFEE_TABLE = (1200.0, 900.0)

STORY = [
    Scene(
        0.0,
        "landing",
        (
            Look(0, 960, 540, 1.0), Look(3.5, 960, 440, 1.5), Look(9.9, 960, 440, 1.6),
            Look(10.8, 960, 470, 2.2),
        ),
        carried=((0.0, 5.5, "letter"),),
    ),
    Scene(
        10.6,
        "hallway",
        (
            Look(10.6, 960, 540, 1.0), Look(12.2, 640, 600, 1.7), Look(15.2, 640, 600, 1.7),
            Look(16.6, 1300, 480, 1.5), Look(19.0, 1300, 480, 1.5), Look(20.6, 985, 540, 2.6),
        ),
        (Handling(13.6, "keys", (600, 584), True), Handling(17.8, "coat", (1350, 330), True)),
    ),
    Scene(
        20.5,
        "kitchen",
        (
            Look(20.5, 960, 540, 1.0), Look(23.6, 740, 820, 1.9), Look(26.8, 740, 820, 1.9),
            Look(27.8, 1320, 360, 2.5), Look(33.6, 1320, 360, 2.6), Look(34.8, 740, 820, 1.9),
            Look(40.4, 740, 820, 1.9), Look(42.0, 960, 540, 1.2),
        ),
        (
            Handling(25.4, "phone", KITCHEN_TABLE, True),
            Handling(36.2, "carton", (650, 780), True, stays=False),
            Handling(39.6, "phone", KITCHEN_TABLE, False),
        ),
        {"mug": MUG},
        ((32.4, 33.8, "carton"),),
    ),
    Scene(
        41.8,
        "living room",
        (
            Look(41.8, 960, 540, 1.0), Look(44.4, 530, 640, 1.8), Look(47.4, 530, 640, 1.8),
            Look(48.4, 1296, 500, 2.1), Look(52.4, 1296, 500, 2.2), Look(53.6, 1200, 820, 1.9),
            Look(56.2, 1200, 820, 1.9), Look(57.4, 530, 640, 1.8), Look(60.4, 530, 640, 1.8),
            Look(62.0, 960, 540, 1.2),
        ),
        (
            Handling(46.2, "phone", SOFA_ARM, True), Handling(55.0, "glasses", COFFEE_TABLE, True),
            Handling(59.2, "phone", SOFA_ARM, False),
        ),
    ),
    Scene(
        61.8,
        "study",
        (
            Look(61.8, 960, 540, 1.0), Look(64.4, 500, 450, 2.0), Look(68.4, 500, 450, 2.0),
            Look(69.2, 1265, 370, 2.0), Look(74.0, 1265, 370, 2.1), Look(75.2, 1330, 720, 1.9),
            Look(78.6, 1330, 720, 1.9), Look(80.4, 960, 540, 1.2),
        ),
        (Handling(66.6, "phone", BOOKSHELF, True), Handling(77.2, "letter", (1370, 790), True, stays=False)),
    ),
    Scene(
        80.2,
        "living room",
        (
            Look(80.2, 960, 540, 1.0), Look(83.6, 530, 620, 1.8), Look(86.0, 1120, 500, 1.25),
            Look(90.0, 1120, 500, 1.3),
        ),
        lying={"glasses": COFFEE_TABLE},
        carried=((86.0, 90.1, "book"),),
    ),
]  # fmt: skip


def _ease(share: float) -> float:
    """A smooth start and stop for a share from 0 to 1."""
    share = min(1.0, max(0.0, share))
    return share * share * (3 - 2 * share)


def _camera(scene: Scene, time: float) -> tuple[float, float, float]:
    """Middle of the view and zoom at `time`; the view sways with each step while the wearer walks."""
    before = max((look for look in scene.looks if look.time <= time), key=lambda look: look.time)
    after = min((look for look in scene.looks if look.time > time), key=lambda look: look.time, default=before)
    span = after.time - before.time
    share = (time - before.time) / span if span else 0.0
    part = _ease(share)
    x, y, zoom = (
        getattr(before, name) + (getattr(after, name) - getattr(before, name)) * part for name in ("x", "y", "zoom")
    )
    far = math.hypot(after.x - before.x, after.y - before.y) + 400 * abs(after.zoom - before.zoom)
    stride = min(1.0, far / 300) * math.sin(math.pi * min(1.0, share)) / zoom
    x += 9 * stride * math.sin(2 * math.pi * time)
    y += 15 * stride * abs(math.sin(2 * math.pi * time)) + 1.5 * math.sin(1.7 * time) / zoom
    half_width, half_height = WIDTH / 2 / zoom, HEIGHT / 2 / zoom
    x = min(max(x, half_width), WIDTH - half_width)
    return x, min(max(y, half_height), HEIGHT - half_height), zoom


def _lying(scene: Scene, time: float) -> tuple[tuple[str, Point], ...]:
    """What lies in the room at `time`: things put down and not yet taken again."""
    things = dict(scene.lying)
    for handling in scene.handlings:
        if handling.time <= time and handling.puts and handling.stays:
            things[handling.thing] = handling.place
        elif handling.time <= time:
            things.pop(handling.thing, None)
    return tuple(sorted(things.items()))


def _paste_hand(view: Image.Image, holding: str, x: float, y: float, zoom: float) -> None:
    """Draws the hand on the view with what it holds at (x, y), frame pixels."""
    scale = zoom * FRAME[0] / WIDTH / SCALE
    hand = hand_image(holding)
    hand = hand.resize((round(hand.width * scale), round(hand.height * scale)), Image.Resampling.BILINEAR)
    middle = 205 * SCALE * scale, 130 * SCALE * scale
    view.paste(hand, (round(x - middle[0]), round(y - middle[1])), hand)


def _draw_hands(view: Image.Image, scene: Scene, time: float, camera: tuple[float, float, float]) -> None:
    x, y, zoom = camera
    unit = zoom * FRAME[0] / WIDTH
    for handling in scene.handlings:
        away = abs(time - handling.time) / REACH_SECONDS
        if away > 1:
            continue
        full = (time <= handling.time) == handling.puts
        target = (handling.place[0] - x) * unit + FRAME[0] / 2, (handling.place[1] - y) * unit + FRAME[1] / 2
        rest = FRAME[0] * 0.62, FRAME[1] + 260
        part = _ease(1.25 - away * 1.25)
        across, down = (rest[axis] + (target[axis] - rest[axis]) * part for axis in (0, 1))
        _paste_hand(view, handling.thing if full else "", across, down, zoom)
    for begin, end, thing in scene.carried:
        if begin <= time < end:
            raised = _ease(min(time - begin, end - time) / 0.6)
            sway = 4 * math.sin(2 * time)
            _paste_hand(view, thing, FRAME[0] * 0.66, FRAME[1] * (1.45 - 0.62 * raised) + sway, 1.6)


def _view(scene: Scene, time: float) -> Image.Image:
    """What the wearer sees of `scene` at `time`."""
    camera = x, y, zoom = _camera(scene, time)
    half_width, half_height = WIDTH / 2 / zoom, HEIGHT / 2 / zoom
    left, top, right, bottom = x - half_width, y - half_height, x + half_width, y + half_height
    room = room_image(scene.room, _lying(scene, time))
    box = (left * SCALE, top * SCALE, right * SCALE, bottom * SCALE)
    view = room.resize(FRAME, Image.Resampling.BILINEAR, box=box, reducing_gap=1.0)
    _draw_hands(view, scene, time, camera)
    return view


def frames() -> Iterator[Image.Image]:
    """Every frame of the film, in order."""
    for number in range(SECONDS * FRAMES_PER_SECOND):
        time = number / FRAMES_PER_SECOND
        current = max(index for index, scene in enumerate(STORY) if scene.start <= time)
        view = _view(STORY[current], time)
        entered = (time - STORY[current].start) / FADE_SECONDS
        if current and entered < 1:
            view = Image.blend(_view(STORY[current - 1], time), view, _ease(entered))
        yield view


def speak(lines: list[str]) -> list[np.ndarray]:
    """Each line spoken by espeak-ng: int16 samples at VOICE_RATE."""
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    rate = library.espeak_Initialize(2, 0, espeakng_loader.get_data_path().encode(), 0)
    if rate != VOICE_RATE:
        raise SystemExit(f"espeak-ng speaks at {rate} Hz, not {VOICE_RATE}")
    library.espeak_SetVoiceByName(VOICE.encode())
    library.espeak_SetParameter(1, WORDS_PER_MINUTE, 0)
    heard: list[np.ndarray] = []

    def collect(samples: ctypes._Pointer[ctypes.c_short], count: int, _events: int) -> int:
        if samples and count:
            heard[-1] = np.concatenate([heard[-1], np.ctypeslib.as_array(samples, (count,))])
        return 0

    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)
    callback = kind(collect)  # kept alive for as long as the library may call it
    library.espeak_SetSynthCallback(callback)
    for line in lines:
        heard.append(np.zeros(0, np.int16))
        text = line.encode()
        library.espeak_Synth(text, ctypes.c_size_t(len(text) + 1), 0, 1, 0, 1, None, None)
        library.espeak_Synchronize()
    return heard


def _stamp(seconds: float) -> str:
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    return f"00:{minutes:02}:{rest // 1000:02},{rest % 1000:03}"


def _write_sound_and_subtitles(folder: Path) -> None:
    """Writes voice.wav and voice.srt; stops if a line would run into the next one."""
    track = np.zeros(SECONDS * VOICE_RATE, np.int16)
    cues = []
    starts = [start for start, _ in LINES] + [float(SECONDS)]
    for number, voice in enumerate(speak([text for _, text in LINES])):
        start, text = LINES[number]
        end = start + len(voice) / VOICE_RATE
        if end > starts[number + 1]:
            raise SystemExit(f"line {number + 1} ends at {end:.2f} s, after the next one starts: {text}")
        first = round(start * VOICE_RATE)
        track[first : first + len(voice)] = voice
        cues.append(f"{number + 1}\n{_stamp(start)} --> {_stamp(end)}\n{text}\n")
    with wave.open(str(folder / "voice.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(VOICE_RATE)
        file.writeframes(track.tobytes())
    (folder / "voice.srt").write_text("\n".join(cues), encoding="utf-8")


def make(out: Path) -> None:
    """Writes the whole film to `out`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_sound_and_subtitles(folder)
        size = f"{FRAME[0]}x{FRAME[1]}"
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error"]
        command += [
            "-f",
            "rawvideo",
            "-pix_fmt",
            "rgb24",
            "-s",
            size,
            "-r",
            str(FRAMES_PER_SECOND),
            "-i",
            "-",
        ]
        command += ["-i", str(folder / "voice.wav"), "-i", str(folder / "voice.srt")]
        command += ["-map", "0:v", "-map", "1:a", "-map", "2:s", "-map_metadata", "-1"]
        command += ["-c:v", "libx264", "-preset", "slow", "-crf", "25", "-g", "30", "-pix_fmt", "yuv420p"]
        command += ["-c:a", "aac", "-b:a", "48k", "-c:s", "mov_text"]
        command += ["-metadata:s:a:0", "language=eng", "-metadata:s:s:0", "language=eng"]
        command += ["-threads", "1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact"]
        command += ["-movflags", "+faststart", str(out)]
        encoder = subprocess.Popen(command, stdin=subprocess.PIPE)
        assert encoder.stdin is not None
        for frame in frames():
            encoder.stdin.write(frame.tobytes())
        encoder.stdin.close()
        if encoder.wait():
            raise SystemExit("ffmpeg could not write the film; its message is above")
    print(f"{out}: {out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "data" / "sample.mp4")
