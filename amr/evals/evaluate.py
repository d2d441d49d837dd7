"""`amr eval`: finds the benchmark, prepares the run's folder and memory, and hands both over."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from amr.errors import UsageError
from amr.evals.folder import RunFolder
from amr.evals.report import Report
from amr.evals.run import Options, Run

if TYPE_CHECKING:
    from amr.config import Settings


def evaluate(benchmark: str, options: Options, settings: Settings) -> Report:
    """Runs a benchmark and writes its folder. Raises UsageError, BadInput, ProviderError."""
    known = _benchmarks()
    if benchmark not in known:
        raise UsageError(f"There is no benchmark {benchmark}; there are: {', '.join(sorted(known))}.")
    _check_channels(options.without)
    check, run = known[benchmark]
    check(options)
    folder = RunFolder(options.out, benchmark)
    report = run(Run(benchmark, options, settings, folder))
    folder.write_report(report)
    return report


def _check_channels(names: tuple[str, ...]) -> None:
    from amr.channels import CHANNELS

    known = [channel.NAME for channel in CHANNELS]
    for name in names:
        if name not in known:
            raise UsageError(f"There is no channel {name}; there are: {', '.join(known)}.")


Check = Callable[[Options], None]
Benchmark = Callable[[Run], Report]


def _benchmarks() -> dict[str, tuple[Check, Benchmark]]:
    from amr.evals import egolife_text, epic

    return {
        "egolife-text": (egolife_text.check, egolife_text.run),
        "epic": (epic.check, epic.run),
    }
