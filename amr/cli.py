"""The command line: parse, call Memory, print. Results on stdout, progress and warnings on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from amr import interrupt
from amr.errors import AmrError, BadInput, UsageError

if TYPE_CHECKING:
    from amr.config import Settings
    from amr.memory import Filters, Memory
    from amr.records import Answer

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Memory for first-person video that answers with evidence.",
)

MemoryOption = Annotated[
    Path | None, typer.Option("--memory", help="Memory directory (default: $AMR_MEMORY, else the user's data).")
]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="TOML file with settings.")]
ScopeOption = Annotated[str, typer.Option("--scope", help="A separate life inside the memory.")]
IngestScopeOption = Annotated[
    str | None,
    typer.Option("--scope", help="A separate life inside the memory (default: default; of chats, each haystack)."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
SourceOption = Annotated[str | None, typer.Option("--source", help="Only this source, by name or id.")]
AsOfOption = Annotated[str | None, typer.Option("--as-of", help="Only what had been seen up to this time.")]
KnownAtOption = Annotated[str | None, typer.Option("--known-at", help="What the memory held at this wall clock.")]
FromOption = Annotated[str | None, typer.Option("--from", help="Only what starts at this time or later.")]
ToOption = Annotated[str | None, typer.Option("--to", help="Only what starts at this time or earlier.")]
MaxCostOption = Annotated[float | None, typer.Option("--max-cost", min=0, help="Dollars never to be passed.")]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Show how the evidence was found.")]
CountOption = Annotated[int, typer.Option("--k", min=1, max=1000, help="How many pieces of evidence.")]
KindOption = Annotated[
    Literal["event", "turn", "fact", "session"] | None,
    typer.Option("--kind", help="Only nodes of this kind; sessions come by this alone."),
]


def _show_version(wanted: bool) -> None:
    if wanted:
        from amr import __version__

        typer.echo(f"amr {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Options of the command line itself; main() looks for --debug."""


@app.command()
def ingest(
    path: Annotated[Path, typer.Argument(help="A video, a folder of clips, captions, narrations, events, or chats.")],
    captions: Annotated[Path | None, typer.Option("--captions", help="Captions of the video: srt, vtt, jsonl.")] = None,
    captions_kind: Annotated[
        str | None, typer.Option("--captions-kind", help="What captions are: auto, speech or narration.")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", help="The name of this source.")] = None,
    wearer: Annotated[
        list[str] | None, typer.Option("--wearer", help="A name of who wears the camera; may be given again.")
    ] = None,
    clip_seconds: Annotated[float | None, typer.Option("--clip-seconds", help="Length of a clip.")] = None,
    perceiver: Annotated[
        str | None, typer.Option("--perceiver", help="embedded, null, or a model such as openrouter:VENDOR/MODEL.")
    ] = None,
    embedder: Annotated[str | None, typer.Option("--embedder", help="embedded, or a model.")] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", help="Clips in flight.")] = None,
    batch: Annotated[bool, typer.Option("--batch", help="Through the provider's Batch API: half price, slow.")] = False,
    max_cost: MaxCostOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be called and cost at the most; send and write nothing.")
    ] = False,
    keep_pass: Annotated[bool, typer.Option("--keep-pass", help="Keep what another perceiver had seen.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more clips in the folder.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
    scope: IngestScopeOption = None,
    memory: MemoryOption = None,
    config: ConfigOption = None,
    json_output: JsonOption = False,
) -> None:
    """Write a video into the memory, clip by clip; run it again to continue."""
    from amr.allocator import give_memory_back
    from amr.config import load_settings
    from amr.media.chats import is_chats
    from amr.show import estimate_json, estimate_text, ingest_json, ingest_text, ingest_warnings, progress_bar

    give_memory_back()

    flags: dict[str, Any] = {"clip_seconds": clip_seconds, "perceiver": perceiver, "embedder": embedder, "jobs": jobs}
    roles = {role: {"mode": "batch"} for role in ("perceive", "handles", "refine", "summaries")} if batch else None
    settings = load_settings(config, **flags, captions_kind=captions_kind, roles=roles)
    if dry_run:
        if follow:
            raise UsageError("--dry-run cannot tell what is still to come; leave --follow out.")
        estimate = _memory(memory).rehearse(path, settings, captions=captions, scope=scope, source=source)
        _print(json_output, lambda: estimate_json(estimate), lambda: estimate_text(estimate))
        return
    with progress_bar(quiet, of_turns=is_chats(path)) as (notice, progress):
        report = _memory(memory).ingest(
            path,
            settings,
            captions=captions,
            scope=scope,
            source=source,
            wearer=wearer or (),
            keep_pass=keep_pass,
            follow=follow,
            max_cost=max_cost,
            notice=notice,
            progress=progress,
        )
    for warning in ingest_warnings(report):
        typer.echo(warning, err=True)
    _print(json_output, lambda: ingest_json(report), lambda: ingest_text(report))
    if any(one.clips_unperceived or one.facts_failed for one in report.sources):
        raise typer.Exit(4)
    if any(one.clips_failed for one in report.sources):
        raise typer.Exit(3)


@app.command()
def ask(
    question: Annotated[
        str | None, typer.Argument(help='For example "where is my phone"; without one, on a terminal, many in turn.')
    ] = None,
    k: CountOption = 10,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    after: FromOption = None,
    before: ToOption = None,
    source: SourceOption = None,
    scope: ScopeOption = "default",
    memory: MemoryOption = None,
    config: ConfigOption = None,
    max_cost: MaxCostOption = None,
    explain: ExplainOption = False,
    json_output: JsonOption = False,
) -> None:
    """Answer a question strictly from the memory's evidence; exit 1 when it is not there."""
    from amr.conversation import converse
    from amr.show import answer_json, answer_text

    filters = _filters(scope, source, as_of, known_at, after, before)
    settings, asked = _settings(config), _memory(memory)

    def answered(text: str, most: float | None) -> Answer:
        answer = asked.ask(text, settings, filters, k, most)
        _warn(answer)
        _print(json_output, lambda: answer_json(answer, explain), lambda: answer_text(answer, explain))
        return answer

    if question is None and sys.stdin.isatty():
        converse(answered, max_cost)
    elif not answered(_question(question or ""), max_cost).found:
        raise typer.Exit(1)


@app.command()
def query(
    question: Annotated[str, typer.Argument(help="What to look for.")],
    k: CountOption = 10,
    kind: KindOption = None,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    after: FromOption = None,
    before: ToOption = None,
    source: SourceOption = None,
    scope: ScopeOption = "default",
    memory: MemoryOption = None,
    config: ConfigOption = None,
    max_cost: MaxCostOption = None,
    explain: ExplainOption = False,
    json_output: JsonOption = False,
) -> None:
    """The evidence that bears on a question, best first, without an answer."""
    from amr.show import query_json, query_text

    filters = _filters(scope, source, as_of, known_at, after, before, kind)
    answer = _memory(memory).query(_question(question), _settings(config), filters, k, max_cost)
    _warn(answer)
    _print(json_output, lambda: query_json(answer, explain), lambda: query_text(answer, explain))
    if not answer.found:
        raise typer.Exit(1)


@app.command()
def timeline(
    person: Annotated[str | None, typer.Option("--person", help="Only events with this person.")] = None,
    object_: Annotated[str | None, typer.Option("--object", help="Only events with this object.")] = None,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    after: FromOption = None,
    before: ToOption = None,
    source: SourceOption = None,
    scope: ScopeOption = "default",
    memory: MemoryOption = None,
    json_output: JsonOption = False,
) -> None:
    """All events in time order; exit 1 when there is none."""
    from amr.show import evidence_text, timeline_json

    filters = _filters(scope, source, as_of, known_at, after, before)
    found = _memory(memory).timeline(filters, person, object_)
    _print(json_output, lambda: timeline_json(found), lambda: evidence_text(found))
    if not found:
        raise typer.Exit(1)


@app.command()
def show(
    node: Annotated[int, typer.Argument(help="A node's id.")],
    memory: MemoryOption = None,
    json_output: JsonOption = False,
) -> None:
    """One node with its edges and its frame."""
    from amr.show import shown_json, shown_text

    shown = _memory(memory).show(node)
    _print(json_output, lambda: shown_json(shown), lambda: shown_text(shown))


@app.command()
def status(
    cost: Annotated[bool, typer.Option("--cost", help="What models were called for, and what it cost.")] = False,
    memory: MemoryOption = None,
    json_output: JsonOption = False,
) -> None:
    """What the memory holds, and its root hash."""
    from amr.show import cost_text, status_json, status_text

    state = _memory(memory).status()
    _print(json_output, lambda: status_json(state), lambda: cost_text(state) if cost else status_text(state))


@app.command()
def objects(
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    after: FromOption = None,
    before: ToOption = None,
    source: SourceOption = None,
    scope: ScopeOption = "default",
    memory: MemoryOption = None,
    json_output: JsonOption = False,
) -> None:
    """Every object: its last state, place or holder, first and last seen, how often; exit 1 when there is none."""
    from amr.retrieve.roster import objects_json, objects_text

    found = _memory(memory).objects(_filters(scope, source, as_of, known_at, after, before))
    _print(json_output, lambda: objects_json(found), lambda: objects_text(found))
    if not found:
        raise typer.Exit(1)


@app.command()
def people(
    proposals: Annotated[bool, typer.Option("--proposals", help="Pairs that may well be one person.")] = False,
    same: Annotated[tuple[str, str] | None, typer.Option("--same", help="These two are one person.")] = None,
    different: Annotated[tuple[str, str] | None, typer.Option("--different", help="These two are two.")] = None,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    after: FromOption = None,
    before: ToOption = None,
    source: SourceOption = None,
    scope: ScopeOption = "default",
    memory: MemoryOption = None,
    json_output: JsonOption = False,
) -> None:
    """Everybody: first and last seen, where, how often; or who may be the same person, and the word on it.

    Exit 1 when there is nobody.
    """
    from amr.show import proposals_json, proposals_text, settled_json, settled_text

    if [proposals, same is not None, different is not None].count(True) > 1:
        raise UsageError("Give one of --proposals, --same A B and --different A B.")
    if not proposals and same is None and different is None:
        _list_people(_memory(memory), _filters(scope, source, as_of, known_at, after, before), json_output)
        return
    pair = same or different
    if pair is not None:
        _memory(memory).settle(*pair, same is not None, scope)
        _print(json_output, lambda: settled_json(pair, same is not None), lambda: settled_text(pair, same is not None))
        return
    found = _memory(memory).look_alikes(_filters(scope, source, as_of, known_at, after, before))
    _print(json_output, lambda: proposals_json(found), lambda: proposals_text(found))
    if not found:
        raise typer.Exit(1)


@app.command()
def rebuild(
    source: SourceOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
    scope: ScopeOption = "default",
    memory: MemoryOption = None,
    config: ConfigOption = None,
    json_output: JsonOption = False,
) -> None:
    """Make the memory anew from what was observed, by the rules of today; no model is called."""
    from amr.show import progress_bar, rebuild_json, rebuild_text

    with progress_bar(quiet) as (_, progress):
        report = _memory(memory).rebuild(_settings(config), scope=scope, source=source, progress=progress)
    _print(json_output, lambda: rebuild_json(report), lambda: rebuild_text(report))


@app.command("eval")
def eval_(
    name: Annotated[
        str,
        typer.Argument(help="longmemeval, locomo, beam, egolife, egolife-text or epic; or compare, with two runs."),
    ],
    runs: Annotated[list[Path] | None, typer.Argument(help="For compare: the folders of two runs.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="The benchmark's data (default: data/NAME).")] = None,
    questions: Annotated[Path | None, typer.Option("--questions", help="The questions, where they are apart.")] = None,
    mcq: Annotated[Path | None, typer.Option("--mcq", help="egolife-text: the object questions of A3_TASHA.")] = None,
    audit: Annotated[
        Path | None, typer.Option("--audit", help="locomo: gold answers known to be wrong (default: beside the data).")
    ] = None,
    without: Annotated[list[str] | None, typer.Option("--without", help="Switch a channel off; repeatable.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="So many questions of each set.")] = None,
    retrieval_only: Annotated[bool, typer.Option("--retrieval-only", help="Call no model, ask for no answer.")] = False,
    oracle: Annotated[bool, typer.Option("--oracle", help="Read the gold evidence instead of what is found.")] = False,
    pooled: Annotated[bool, typer.Option("--pooled", help="longmemeval: all sessions as one haystack.")] = False,
    model: Annotated[str, typer.Option("--model", help="The model that answers.")] = "",
    judge: Annotated[str, typer.Option("--judge", help="The model that judges (default: that of --model).")] = "",
    max_cost: MaxCostOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run of --out, or the newest.")] = False,
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Ask again what failed in that run.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Folder of this run (default: amr-eval/NAME-TIME).")] = None,
    memory: Annotated[Path | None, typer.Option("--memory", help="A memory to use again (default: in --out).")] = None,
    config: ConfigOption = None,
    json_output: JsonOption = False,
) -> None:
    """Run a benchmark: the memory beside plain search, with 95 % intervals; or compare two runs."""
    from amr.evals.evaluate import evaluate
    from amr.evals.report import report_json, report_text
    from amr.evals.run import Options

    if name == "compare":
        _compare(runs or [], json_output)
        return
    if runs:
        raise UsageError(f"amr eval {name} takes no folders; they are for amr eval compare A B.")
    options = Options(
        data=data,
        questions=questions,
        mcq=mcq,
        audit=audit,
        memory=memory,
        out=out,
        without=tuple(without or ()),
        limit=limit,
        retrieval_only=retrieval_only,
        oracle=oracle,
        pooled=pooled,
        resume=resume,
        only_failed=only_failed,
        model=model,
        judge=judge,
        max_cost=max_cost,
        notice=lambda text: typer.echo(text, err=True),
    )
    report = evaluate(name, options, _settings(config))
    _print(json_output, lambda: report_json(report), lambda: report_text(report))


@app.command()
def doctor(
    fetch: Annotated[str | None, typer.Option("--fetch", help="Fetch weights: speech.")] = None,
    memory: MemoryOption = None,
    config: ConfigOption = None,
    json_output: JsonOption = False,
) -> None:
    """Check this installation: media, models, indexes, the memory; exit 1 when something is missing."""
    from amr.doctor import diagnose, fetch_weights
    from amr.show import doctor_json, doctor_text

    settings = _settings(config)
    if fetch is not None:
        typer.echo(fetch_weights(fetch, settings), err=True)
    findings = diagnose(settings, _memory(memory).directory)
    _print(json_output, lambda: doctor_json(findings), lambda: doctor_text(findings))
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


@app.command()
def schema(
    name: Annotated[str | None, typer.Argument(help="analysis, events, clips; nothing for the list.")] = None,
) -> None:
    """The JSON Schema of a format that amr reads."""
    from amr.formats import FORMATS, json_schema

    if name is None:
        typer.echo("\n".join(FORMATS))
        return
    if name not in FORMATS:
        raise UsageError(f"There is no format {name}; there are: {', '.join(FORMATS)}.")
    _print(True, lambda: json_schema(name), str)


def _compare(runs: list[Path], json_output: bool) -> None:
    from amr.evals.compare import compare, comparison_json, comparison_text

    if len(runs) != 2:
        raise UsageError("Give the folders of two runs: amr eval compare A B.")
    comparison = compare(*runs)
    _print(json_output, lambda: comparison_json(comparison), lambda: comparison_text(comparison))
    if not comparison.n:
        raise typer.Exit(1)


def _list_people(memory: Memory, filters: Filters, json_output: bool) -> None:
    from amr.retrieve.roster import people_json, people_text

    found = memory.people(filters)
    _print(json_output, lambda: people_json(found), lambda: people_text(found))
    if not found:
        raise typer.Exit(1)


def _memory(directory: Path | None) -> Memory:
    from amr.memory import Memory

    return Memory(directory)


def _settings(config: Path | None) -> Settings:
    from amr.config import load_settings

    return load_settings(config)


def _question(text: str) -> str:
    if not text.strip():
        raise UsageError('Ask something, for example: amr ask "where is my phone".')
    return text


def _warn(answer: Answer) -> None:
    for warning in answer.warnings:
        typer.echo(warning, err=True)


def _filters(
    scope: str,
    source: str | None,
    as_of: str | None,
    known_at: str | None,
    after: str | None,
    before: str | None,
    kind: str | None = None,
) -> Filters:
    from amr.memory import Filters

    kinds = Filters.kinds if kind is None else (kind,)
    return Filters(scope, source, as_of, known_at, after, before, kinds)


def _print(as_json: bool, json_value: Callable[[], Any], text: Callable[[], str]) -> None:
    if as_json:
        import json

        typer.echo(json.dumps(json_value(), ensure_ascii=False, indent=2))
    else:
        typer.echo(text())


def main() -> None:
    """Runs the command line; every error is one sentence on stderr and the exit code of the design."""
    interrupt.install()
    try:
        app()
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except (Exception, interrupt.Interrupted) as error:
        if "--debug" in sys.argv:
            raise
        sentence, code = _told(error)
        print(sentence, file=sys.stderr)
        sys.exit(code)


def _told(error: BaseException) -> tuple[str, int]:
    """What to say about an error, and the exit code."""
    # A library that is interrupted may raise an error of its own in place of Interrupted.
    if interrupt.asked():
        again = "the same command with --resume" if "eval" in sys.argv else "the same command"
        return f"Interrupted; what was finished is kept. Run {again} to continue.", 130
    if isinstance(error, AmrError):
        return str(error), error.exit_code
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror or error}{where}; check the path, its rights and the space left.", BadInput.exit_code
    if isinstance(error, UnicodeEncodeError):
        return "A name or a text that was given is not UTF-8; rename the file or write it anew.", BadInput.exit_code
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return f"amr failed in a way it should not ({reason}); report what amr --debug shows.", BadInput.exit_code


if __name__ == "__main__":
    main()
