"""Reading a video costs the same memory however long it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.data import ROOT
from tests.support.videos import make_video, remake

_MEASURE = """
import resource, sys
from pathlib import Path
from amr.config import load_settings
from amr.media.source import open_sources
[source] = open_sources(Path(sys.argv[1]), load_settings())
clips = sum(1 for clip in source.clips(set()))
print(clips, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def _peak_mib(path: Path) -> tuple[int, int]:
    command = [sys.executable, "-c", _MEASURE, str(path)]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    clips, peak = output.split()
    return int(clips), int(peak)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in KiB on Linux only")
@pytest.mark.parametrize("suffix", [".mkv", pytest.param(".mp4", marks=pytest.mark.soak)])
def test_memory_does_not_grow_with_length(tmp_path: Path, suffix: str) -> None:
    """Twenty minutes' frames and sound, if they were kept, would be 140 MiB."""
    minute = make_video(tmp_path / "minute.mp4", 60, rate=5)
    looped = remake(minute, tmp_path / f"long{suffix}", before=("-stream_loop", 19))
    short_clips, short = _peak_mib(remake(minute, tmp_path / f"short{suffix}"))
    long_clips, long = _peak_mib(looped)
    assert short_clips == 6 and long_clips >= 120
    assert long - short < 16
