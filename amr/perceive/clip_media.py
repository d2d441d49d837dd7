"""What of a clip is sent to a model: the clip as a small video, or frames and sound. Equal clips give equal bytes."""

from __future__ import annotations

import io
import subprocess
import tempfile
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from amr.errors import BadInput
from amr.models.chat import CallFailed, Media

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from amr.media.probe import Media as File
    from amr.models.capabilities import Capabilities
    from amr.records import Clip, Frame

_SAMPLE_RATE = 16_000


@dataclass(frozen=True)
class Quality:
    """How much is kept: the share of `frame_size`, the quality of a JPEG, x264's rate factor, pictures a second."""

    scale: float
    jpeg: int
    rate_factor: int
    most_rate: int
    audio_rate: str


FULL = Quality(scale=1.0, jpeg=85, rate_factor=26, most_rate=10, audio_rate="32k")
SMALLER = Quality(scale=0.5, jpeg=70, rate_factor=34, most_rate=5, audio_rate="24k")
"""For a second attempt, where the first is over a limit of the provider: about a tenth of the bytes."""


@dataclass(frozen=True)
class Sent:
    """What is sent of a clip. `frame_times` are those of the pictures, in seconds from the clip's start."""

    media: tuple[Media, ...]
    frame_times: tuple[float, ...] = ()
    hears: bool = False

    @property
    def sees(self) -> bool:
        """Whether pictures are sent, moving or not."""
        return any(item.kind != "audio" for item in self.media)


def clip_media(clip: Clip, model: Capabilities, frame_size: int, quality: Quality = FULL) -> Sent:
    """The media of a clip that a model takes; long sides are at most `frame_size` pixels.

    A model that takes video gets the clip cut out of its file; another gets the frames, and the sound if it takes
    sound. Raises CallFailed when the clip cannot be cut out.
    """
    size = max(2, round(frame_size * quality.scale))
    if model.video and clip.frames and clip.path is not None and clip.file_start_ms is not None:
        hears = model.audio and clip.audio is not None
        return Sent((_cut_out(clip, size, quality, hears),), hears=hears)
    frames = spread(clip.frames, model.max_images) if model.images else []
    media = [Media("image", _jpeg(frame, size, quality.jpeg), "image/jpeg") for frame in frames]
    hears = model.audio and clip.audio is not None and clip.audio.size > 0
    if hears and clip.audio is not None:
        media.append(Media("audio", wav_bytes(clip.audio), "audio/wav", clip.audio.size / _SAMPLE_RATE))
    return Sent(tuple(media), tuple(seconds_in(frame.time_ms, clip) for frame in frames), hears)


def seconds_in(time_ms: int, clip: Clip) -> float:
    """A time of the source in seconds from the clip's start."""
    return round((time_ms - clip.start_ms) / 1000, 3)


def spread(frames: list[Frame], most: int) -> list[Frame]:
    """At most so many of the frames, evenly spread, the first and the last among them."""
    if len(frames) <= most:
        return frames
    if most == 1:
        return [frames[len(frames) // 2]]
    return [frames[number * (len(frames) - 1) // (most - 1)] for number in range(most)]


def _jpeg(frame: Frame, size: int, quality: int) -> bytes:
    from PIL import Image

    image = Image.fromarray(frame.image)
    image.thumbnail((size, size), Image.Resampling.BILINEAR)
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    return file.getvalue()


def wav_bytes(audio: NDArray[np.float32]) -> bytes:
    """16 kHz mono audio, float32 [samples], as a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(_SAMPLE_RATE)
        sound.writeframes((audio.clip(-1, 1) * 32767).astype("<i2").tobytes())
    return file.getvalue()


def _cut_out(clip: Clip, size: int, quality: Quality, hears: bool) -> Media:
    """The clip as an mp4 of its own, its times from zero."""
    from amr.media.probe import probe

    assert clip.path is not None
    try:
        file = probe(clip.path)
    except BadInput as error:
        raise CallFailed(str(error)) from error
    with tempfile.TemporaryDirectory(prefix="amr-clip-") as folder:
        target = Path(folder) / "clip.mp4"
        command = _command(clip, file, target, size, quality, hears)
        # In a session of its own: Ctrl-C stops the run after the clips in flight, not in the middle of them.
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, start_new_session=True, check=False
        )
        if done.returncode != 0 or not target.is_file():
            said = " ".join(done.stderr.decode(errors="replace").split())[-300:]
            raise CallFailed(f"The clip could not be cut out of {clip.path.name} ({said}); copy the file again.")
        return Media("video", target.read_bytes(), "video/mp4", (clip.end_ms - clip.start_ms) / 1000)


def _command(clip: Clip, file: File, target: Path, size: int, quality: Quality, hears: bool) -> list[str]:
    import ffmpeg
    import imageio_ffmpeg

    begin = float(file.origin) + (clip.file_start_ms or 0) / 1000
    source = ffmpeg.input(
        f"file:{file.path.absolute()}",
        ss=f"{max(0.0, begin):.3f}",
        seek_timestamp=1,  # on the clock of the file's own time stamps
        t=f"{(clip.end_ms - clip.start_ms) / 1000:.3f}",
        threads=1,
        protocol_whitelist="file",
    )
    tracks = [file.video, file.audio if hears else None]
    fitted = f"*min(1,{size}/max(iw,ih))/2)*2)"
    exact = {"fflags": "+bitexact", "flags:v": "+bitexact", "flags:a": "+bitexact"}
    result = ffmpeg.output(
        *(source[str(track.index)] for track in tracks if track is not None),
        str(target),
        vf=f"scale=w='max(2,trunc(iw{fitted}':h='max(2,trunc(ih{fitted}'",
        vcodec="libx264",
        preset="veryfast",
        crf=quality.rate_factor,
        pix_fmt="yuv420p",
        fpsmax=quality.most_rate,
        **({"acodec": "aac", "ac": 1, "ar": _SAMPLE_RATE, "audio_bitrate": quality.audio_rate} if hears else {}),
        **exact,
        threads=1,
        map_metadata=-1,
        map_chapters=-1,
        movflags="+faststart",
    ).global_args("-nostdin", "-v", "error")
    command: list[str] = ffmpeg.compile(result, cmd=imageio_ffmpeg.get_ffmpeg_exe(), overwrite_output=True)
    return command
