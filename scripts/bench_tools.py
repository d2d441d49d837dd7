"""What the benchmarks share: the rows of the table, child processes with what they cost, made-up clips and films."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import imageio_ffmpeg

from amr.records import Action, ClipAnalysis, EventReport, ObjectReport

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(tempfile.gettempdir()) / "amr-bench"

_THINGS = ("phone", "cup", "keys", "wallet", "book", "laptop", "bottle", "plate", "lamp", "bag", "jacket", "towel")
_VERBS = ("takes", "puts", "opens", "closes", "moves", "washes", "holds", "drops")
_PLACES = ("on the kitchen table", "in the drawer", "next to the sink", "under the sofa", "on the shelf", "in the bag")


@dataclass
class Row:
    """A line of the table. `limit` is the floor, or with `most` the ceiling; None is a figure without one."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    most: bool = False
    note: str = ""

    def holds(self) -> bool:
        """Whether the figure keeps to its limit."""
        if self.limit is None:
            return True
        return self.value <= self.limit if self.most else self.value >= self.limit


@dataclass
class Cost:
    """What a child process took: seconds by the clock and of processor time, and its peak memory in MiB."""

    code: int
    wall: float
    cpu: float
    peak: float
    errors: str


_LAUNCHER = """
import os, sys, time
started = time.perf_counter()
nowhere = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=nowhere)
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - started
print(os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def amr(*arguments: object, **environment: str) -> Cost:
    """Runs the command line in a child process.

    A small process starts it: the kernel counts what the parent holds at the start into the child's peak memory.
    """
    command = [sys.executable, "-S", "-c", _LAUNCHER, sys.executable, "-m", "amr.cli", *map(str, arguments)]
    run = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    code, wall, cpu, peak = run.stdout.split()[-4:]
    return Cost(int(code), float(wall), float(cpu), int(peak) / 1024, run.stderr)


def done(cost: Cost) -> Cost:
    """The cost of a command that has to succeed."""
    if cost.code:
        raise SystemExit(f"a measured command failed with exit code {cost.code}: {cost.errors}")
    return cost


def ffmpeg(*arguments: object) -> None:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-v", "error", *(str(part) for part in arguments)]
    subprocess.run(command, check=True)


def film(size: str, seconds: int, container: str = "mp4") -> Path:
    """A made-up film of so many seconds at 30 frames/s, H.264 with a key frame every 2 s, and a voice-like sound.

    The picture is a moving test card with a running clock under noise, at 720p with the bit rate of a real
    hand-held film (1.0 and 1.5 Mbit/s for two at hand). One minute is encoded, longer films repeat it.
    """
    CACHE.mkdir(exist_ok=True)
    path = CACHE / f"{size}-{seconds}.{container}"
    if path.exists():
        return path
    minute = CACHE / f"{size}-minute.mp4"
    if not minute.exists():
        rate = "1.3M" if size == "1280x720" else "300k"
        picture = ["-f", "lavfi", "-i", f"testsrc2=size={size}:rate=30:duration=60,noise=alls=3:allf=t"]
        sound = ["-f", "lavfi", "-i", "aevalsrc='0.3*sin(2*PI*180*t)*(0.5+0.5*sin(2*PI*3*t))':s=48000:d=60"]
        codecs = ["-c:v", "libx264", "-preset", "veryfast", "-b:v", rate, "-maxrate", rate, "-bufsize", "6M"]
        rest = ["-g", 60, "-sc_threshold", 0, "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "96k", "-shortest"]
        ffmpeg(*picture, *sound, *codecs, *rest, minute.with_suffix(".new.mp4"))
        minute.with_suffix(".new.mp4").replace(minute)
    fresh = path.with_suffix(f".new.{container}")
    ffmpeg("-stream_loop", -(-seconds // 60) - 1, "-i", minute, "-t", seconds, "-c", "copy", fresh)
    fresh.replace(path)
    return path


def analysis(index: int, events: int = 5) -> ClipAnalysis:
    """A made-up clip of ten seconds; the same for the same index."""
    chance = random.Random(index)
    return ClipAnalysis(
        clip_summary=f"clip {index}",
        scene_type="kitchen",
        events=[_event(chance, number, 10 / events) for number in range(events)],
    )


def _event(chance: random.Random, number: int, length: float) -> EventReport:
    verb, thing, place = chance.choice(_VERBS), chance.choice(_THINGS), chance.choice(_PLACES)
    actor = chance.choice(["wearer", "wearer", "anna"])
    return EventReport(
        local_event_id=f"E{number}",
        time_start=number * length,
        time_end=(number + 0.9) * length,
        summary=f"{actor} {verb} the {thing} {place}.",
        actors=[actor],
        objects=[ObjectReport(name=thing, spatial_description=place)],
        dialogue=[f"Here is the {thing}."] if number == 2 else [],
        actions=[Action(actor=actor, verb=verb, object=thing, spatial_relation=place)],
    )
