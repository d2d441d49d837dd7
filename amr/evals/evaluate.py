"""`amr eval`: finds the benchmark, prepares the run's folder and memory, and hands both over."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from amr.errors import AmrError, UsageError
from amr.evals.folder import RunFolder
from amr.evals.report import Report
from amr.evals.run import Options, Run
from amr.interrupt import Interrupted

if TYPE_CHECKING:
    from amr.config import Settings

BENCHMARKS = {
    "longmemeval": "longmemeval",
    "locomo": "locomo",
    "beam": "beam",
    "egolife": "egolife_qa",
    "egolife-text": "egolife_text",
    "epic": "epic",
}
"""The benchmarks by name, with their module.

A module has `check(options) -> Options` (what is missing filled in, such as where the data lies; BadInput before
anything is written), `run(run) -> Report`, and `TAKES`, the options that only some benchmarks take.
"""

_NOT_FOR_ALL = {
    "questions": "--questions",
    "mcq": "--mcq",
    "audit": "--audit",
    "retrieval_only": "--retrieval-only",
    "oracle": "--oracle",
    "pooled": "--pooled",
    "model": "--model",
    "judge": "--judge",
    "max_cost": "--max-cost",
}


def evaluate(name: str, options: Options, settings: Settings) -> Report:
    """Runs a benchmark and writes its folder. Raises UsageError, BadInput, ProviderError."""
    if name not in BENCHMARKS:
        raise UsageError(f"There is no benchmark {name}; there are: {', '.join(sorted(BENCHMARKS))}.")
    module: Any = import_module(f"amr.evals.{BENCHMARKS[name]}")
    _check_flags(name, options, module.TAKES)
    _check_channels(options.without)
    if options.model or options.judge:
        from amr.evals.answering import with_models

        settings = with_models(settings, options.model or None, options.judge or None)
    options = module.check(replace(options, resume=options.resume or options.only_failed))
    folder = RunFolder(options.out, name, options.resume)
    try:
        report: Report = module.run(Run(name, options, settings, folder))
        folder.write_report(report)
    except AmrError:
        folder.leave()
        raise
    except Interrupted:
        options.notice(f"amr eval {name} … --resume --out {folder.path} continues this run.")
        raise
    finally:
        folder.close()
    return report


def _check_flags(benchmark: str, options: Options, takes: frozenset[str]) -> None:
    for name, flag in _NOT_FOR_ALL.items():
        if getattr(options, name) and name not in takes:
            raise UsageError(f"{benchmark} takes no {flag}; leave it out.")
    if options.retrieval_only and (options.model or options.oracle):
        flag = "--model" if options.model else "--oracle"
        raise UsageError(f"--retrieval-only calls no model; leave it or {flag} out.")
    if options.judge and options.retrieval_only:
        raise UsageError("--retrieval-only has nothing to judge; leave it or --judge out.")


def _check_channels(names: tuple[str, ...]) -> None:
    from amr.channels import CHANNELS

    known = [channel.NAME for channel in CHANNELS]
    for name in names:
        if name not in known:
            raise UsageError(f"There is no channel {name}; there are: {', '.join(known)}.")
