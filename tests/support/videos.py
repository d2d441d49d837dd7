"""Makes small videos for tests, with the ffmpeg that imageio-ffmpeg ships.

The picture is ffmpeg's test card, which differs from frame to frame; the sound is a tone.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import imageio_ffmpeg

TONE = "sine=frequency=440:sample_rate=48000"
SILENCE = "anullsrc=channel_layout=stereo:sample_rate=48000"


def ffmpeg(*arguments: object) -> None:
    """Runs ffmpeg; a failure shows its message."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-v", "error", *(str(part) for part in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def make_video(
    path: Path,
    seconds: float = 25.0,
    *,
    size: str = "160x120",
    rate: int = 10,
    picture: bool = True,
    sound: str | None = TONE,
    key_every: int = 20,
    extra: tuple[object, ...] = (),
) -> Path:
    """Writes a video (or, without `picture`, a sound file) of `seconds`; `extra` are output options of ffmpeg."""
    inputs: list[object] = []
    if picture:
        inputs += ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate={rate}:duration={seconds}"]
    if sound:
        inputs += ["-f", "lavfi", "-t", seconds, "-i", sound]
    codecs: list[object] = []
    if picture:
        codecs += ["-c:v", "libx264", "-preset", "fast", "-g", key_every, "-sc_threshold", 0, "-pix_fmt", "yuv420p"]
    if sound:
        codecs += ["-c:a", "aac", "-b:a", "48k"]
    ffmpeg(*inputs, *codecs, *extra, path)
    return path


def remake(source: Path, path: Path, *options: object, before: tuple[object, ...] = ()) -> Path:
    """Copies the streams of a video into another file; `before` are input options."""
    ffmpeg(*before, "-i", source, "-map", 0, "-c", "copy", *options, path)
    return path


def cut_off(source: Path, path: Path, keep: float) -> Path:
    """Writes an mp4 with its index first of which only the first `keep` (0 to 1) of the bytes are there."""
    whole = remake(source, path.with_suffix(".whole.mp4"), "-movflags", "+faststart")
    data = whole.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    whole.unlink()
    return path


def with_texts(source: Path, path: Path, texts: list[tuple[str, str]]) -> Path:
    """Adds text tracks, each (language, contents of an .srt), to a video."""
    inputs: list[object] = ["-i", source]
    options: list[object] = ["-map", "0"]
    for number, (language, text) in enumerate(texts):
        file = path.with_suffix(f".{number}.srt")
        file.write_text(text, encoding="utf-8")
        inputs += ["-i", file]
        options += ["-map", number + 1, f"-metadata:s:s:{number}", f"language={language}"]
    codec = "mov_text" if path.suffix == ".mp4" else "srt"
    ffmpeg(*inputs, *options, "-c", "copy", "-c:s", codec, path)
    for number in range(len(texts)):
        path.with_suffix(f".{number}.srt").unlink()
    return path


def srt(*cues: tuple[float, float, str]) -> str:
    """The text of an .srt file with the cues (start and end in seconds, text)."""
    blocks = (
        f"{number}\n{_clock(start)} --> {_clock(end)}\n{text}\n"
        for number, (start, end, text) in enumerate(cues, start=1)
    )
    return "\n".join(blocks)


def _clock(seconds: float) -> str:
    milliseconds = round(seconds * 1000)
    hours, rest = divmod(milliseconds, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02},{rest % 1000:03}"
