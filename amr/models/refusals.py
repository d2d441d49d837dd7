"""What a provider's refusal means: wait for it, ask again, or give up on the request or on the run."""

from __future__ import annotations

import email.utils
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from amr.errors import ProviderError
from amr.models.chat import CallFailed, RequestTooLarge, Usage
from amr.models.names import ModelName

if TYPE_CHECKING:
    from openai import APIError

Remedy = Literal["wait", "retry", "other_json", "none"]
"""`wait`: the provider is too busy or away, so all calls wait. `retry`: this call is sent again by itself.
`other_json`: the model does not take a schema. `none`: sending it again is of no use."""

_BUSY = {429, 502, 503, 504, 529}
_TRANSIENT = {408, 409, 425}
_NOT_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout"}
_SECRET = re.compile(r"\b(?:sk|key|Bearer)[-_ ][A-Za-z0-9*._-]{6,}")
_TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum context|too many tokens|too (long|large)|exceeds? the (maximum|limit)"
    r"|reduce the length|payload",
    re.IGNORECASE,
)
_NO_MEDIA = re.compile(
    r"(not|n't|unable to|no endpoints found that) (support|accept|process|handle|take)"
    r"[^.]{0,40}(image|video|audio|vision)"
    r"|(image|video|audio|vision)[^.]{0,30}(not|n't|is un)[^.]{0,8}(support|accept|enabled|allowed)"
    r"|(image|video|audio)(_url)? is only supported by|not a (multimodal|vision)|unsupported modalit",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"not a valid model|model.{0,80}does not exist|no such model", re.IGNORECASE)
_MAX_TOKENS = re.compile(r"max_(completion_)?tokens.*too large", re.IGNORECASE)
_NO_SCHEMA = re.compile(r"response_format|json_schema|structured output|json mode|requested parameters", re.IGNORECASE)
_LONGEST_TEXT = 300


@dataclass(eq=False)
class Refusal(Exception):
    """A call that brought no reply. `status` is 0 when there was no answer at all; `usage` what it cost if known.

    `maybe_charged` is true when the provider may have done the work though no reply arrived.
    """

    what: str
    status: int = 0
    code: str = ""
    retry_after_s: float | None = None
    unreachable: bool = False
    maybe_charged: bool = False
    usage: Usage = field(default_factory=Usage)

    def __str__(self) -> str:
        return self.what


def refusal_of(error: APIError, key: str) -> Refusal:
    """The refusal behind an error of the client, its text free of the key."""
    from openai import APIConnectionError, APIStatusError, APITimeoutError

    if isinstance(error, APIStatusError):
        what, code = _said(error.body, error.message)
        header = error.response.headers.get("retry-after")
        return Refusal(scrubbed(what, key), error.status_code, code, _retry_after(header))
    sent = type(error.__cause__).__name__ not in _NOT_SENT
    if isinstance(error, APITimeoutError):
        return Refusal("it did not answer in time", unreachable=not sent, maybe_charged=sent)
    if isinstance(error, APIConnectionError):
        what = "the connection broke off" if sent else "it cannot be reached"
        return Refusal(what, unreachable=not sent, maybe_charged=sent)
    return Refusal(scrubbed(error.message, key), maybe_charged=True)


def refusal_in_body(body: Any, key: str) -> Refusal | None:
    """The refusal that a response of status 200 holds instead of a reply, as OpenRouter sends it."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None
    what, code = _said(error, "an error")
    status = int(code) if code.isdigit() else 500
    return Refusal(scrubbed(what, key), status, code)


def _said(body: Any, otherwise: str) -> tuple[str, str]:
    """What the provider said and its code for it."""
    if not isinstance(body, dict):
        return otherwise, ""
    inner = body.get("error")
    body = inner if isinstance(inner, dict) else body
    return str(body.get("message") or otherwise), str(body.get("code") or "")


def scrubbed(text: str, key: str) -> str:
    """A provider's words without the key or anything like one, on one line, at most 300 characters."""
    text = text.replace(key, "…") if len(key) > 4 else text
    text = " ".join(_SECRET.sub("…", text).split())
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"


def _retry_after(header: str | None) -> float | None:
    """Seconds that a Retry-After header asks to wait, given as a number or as a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def remedy_for(refusal: Refusal) -> Remedy:
    """What may help against a refusal."""
    if refusal.status == 429 and (refusal.code == "insufficient_quota" or _TOO_LONG.search(refusal.what)):
        return "none"
    if refusal.unreachable or refusal.status in _BUSY:
        return "wait"
    if refusal.status == 0 or refusal.status in _TRANSIENT or refusal.status >= 500:
        return "retry"
    if refusal.status in (400, 404, 422) and _NO_SCHEMA.search(refusal.what):
        return "other_json"
    return "none"


def final_error(refusal: Refusal, name: ModelName, has_media: bool) -> ProviderError:
    """The error that a refusal which nothing helps against ends in: CallFailed if only this request is at fault."""
    status, said, where = refusal.status, refusal.what, _capital(name.where)
    if status == 401:  # what is said here often quotes the key
        return ProviderError(f"{where} refused the key (401); check it and run the same command again.")
    if status == 402 or refusal.code == "insufficient_quota":
        return ProviderError(f"{where} says the account has no credit left ({said}).")
    if has_media and status in (400, 404, 415, 422) and _NO_MEDIA.search(said):
        return ProviderError(f"The model {name} does not take what it was sent ({said}); choose a model that sees.")
    if status == 404 and "data policy" in said:
        return ProviderError(
            f"Nobody on OpenRouter runs {name.model} without keeping what is sent ({said}); choose another model, or "
            f'set data_collection = "allow" under [models."{name}"] in the config.'
        )
    if status == 404 or (status == 400 and _NO_MODEL.search(said)):
        return ProviderError(f"{where} knows no model {name.model} ({status}: {said}); check its name.")
    if status == 400 and _MAX_TOKENS.search(said) and "context" not in said:
        return ProviderError(f"The max_tokens set for {name} is more than it allows ({said}); set it lower.")
    if (
        status == 413
        or refusal.code == "context_length_exceeded"
        or (status in (400, 422, 429) and _TOO_LONG.search(said))
    ):
        return RequestTooLarge(f"The request is too large for {name} ({status}: {said}).", refusal.usage)
    if status == 403 and name.provider != "openrouter":  # there it means that this one request was flagged
        return ProviderError(f"{where} does not allow this use of {name.model} (403: {said}).")
    return CallFailed(f"{where} refused the request ({status}: {said}).", refusal.usage)


def gave_up(refusal: Refusal, name: ModelName, tries: int, whole_run: bool) -> ProviderError:
    """The error after many tries: of the whole run when the provider answers nobody, else of this request."""
    where = _capital(name.where)
    status = f"{refusal.status}: " if refusal.status else ""
    why = f"{status}{refusal.what}"
    if whole_run:
        return ProviderError(
            f"{where} has not answered for a while ({why}); run the same command again later to go on from here."
        )
    return CallFailed(f"{where} failed this request {tries} times ({why}).", refusal.usage)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
