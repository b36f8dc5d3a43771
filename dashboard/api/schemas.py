"""What the API takes and gives, typed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from ninja import Field, Schema

from replay.debugger.diverging.findings import OnDivergence
from replay.debugger.executing.following import Until


class ErrorBody(Schema):
    code: str
    message: str
    detail: Any = None


class Error(Schema):
    error: ErrorBody


class Progress(Schema):
    """The same as the job's or replay's WebSocket sends."""

    status: str
    phase: str
    done: int
    total: int
    unit: str
    message: str


class JobOut(Schema):
    id: str
    name: str
    owner: str
    mine: bool
    payloads: bool = Field(description="Whether the caller sees what it says; else ••• stands in place of values.")
    status: str
    message: str
    bytes: int
    container: str
    content_id: str
    rejects: int
    schema_version: int
    facts: dict[str, Any]
    following: bool = Field(description="Whether the folder that it is recorded into is looked at for more.")
    tags: list[str] = Field(description="Words that its owner has put on it, in alphabetical order.")
    created_at: datetime
    updated_at: datetime
    url: str
    repeated: bool = Field(False, description="The upload's content was here before; this is the job that holds it.")


class JobDetail(JobOut):
    delivery: dict[str, Any] | None = Field(
        None, description="Of an ordinary engine's recording: whether every output was given to the outside once."
    )
    progress: Progress


class JobPage(Schema):
    jobs: list[JobOut]
    cursor: str | None = Field(description="Pass it on to get the next page; null on the last.")


class UploadIn(Schema):
    name: str = Field(min_length=1, max_length=200)
    size: int = Field(ge=1, lt=2**60, description="Bytes in all.")


class UploadOut(Schema):
    id: str
    name: str
    size: int
    offset: int
    url: str


class TablePage(Schema):
    columns: list[str]
    rows: list[list[Any]]
    cursor: str | None = Field(description="Pass it on to get the next page; null on the last.")


class HolderAt(Schema):
    holder: str = Field(description="A task, or `world`: the outside.")
    holder_attempt: int
    upto: int = Field(description="Bytes from the start of the epoch that it had got by then.")
    since_us: int = Field(description="When the last of them came.")
    there: bool = Field(description="No later attempt of it had begun by then.")


class HoldersAt(Schema):
    holders: list[HolderAt]


class MeasuresOut(Schema):
    by: str
    says: str = Field(description="What the numbers are, in words.")
    unit: str = Field(description="`bytes`, `us` or nothing, of what is counted.")
    values: dict[str, int] = Field(description="By task.")


class CurvePoint(Schema):
    t_us: int = Field(alias="tUs")
    value: float


class Curve(Schema):
    name: str
    unit: str = Field(description="`records/s` or `us`.")
    points: list[CurvePoint]
    p50: list[CurvePoint] = Field([], description="Of latencies: the median beside the 99th percentile.")


class CurvesOut(Schema):
    of: str
    curves: list[Curve]


class QuestionIn(Schema):
    sql: str = Field(max_length=8_000, description="One SELECT.")
    order: int = Field(0, ge=0, le=500, description="The number of the answer's column to sort by, from 1; 0: none.")
    descending: bool = False


class AnswerPage(Schema):
    columns: list[str]
    types: list[str]
    rows: list[list[Any]] = Field(description="Plain values; bytes are hexadecimal, nested values JSON in a text.")
    more: bool = Field(description="Whether further rows stand behind these.")


class ReplayIn(Schema):
    task: str = Field("", max_length=200)
    failure: int | None = Field(None, ge=0, lt=2**31)
    attempt: int | None = Field(None, ge=0, lt=2**31)
    on_divergence: OnDivergence = Field("stop", description="Stop at a divergence, or go on and number what follows.")
    until: Until = Field("snapshot", description="How far a recovery is followed beyond what was returned.")
    hunt: bool = Field(False, description="Look for what the operator reads past its log; goes on past divergences.")


class ForkIn(Schema):
    step: int = Field(ge=0, lt=2**63)
    change: dict[str, Any] = Field(description="what is otherwise there: {change, …}, see docs/forks.md")


class ChangeOffer(Schema):
    change: str
    field: str = Field(description="what there is to choose; empty where the change says it all")
    choices: list[str]
    now: str = Field(description="what it is without the change, where that is one value")


class Changes(Schema):
    step: int
    changes: list[ChangeOffer]


class Comparison(Schema):
    report: dict[str, Any] = Field(description="see docs/forks.md")


class ReplayOut(Schema):
    id: str
    job: str
    owner: str
    task: str
    failure: int | None
    attempt: int | None
    until: Until
    on_divergence: OnDivergence
    hunt: bool
    parent: str | None = Field(description="of a fork, the replay that it is one of, unless that is deleted")
    fork_step: int | None
    change: dict[str, Any] | None
    before: list[dict[str, Any]] = Field(description="of a fork of a fork, {step, change} of each fork before it")
    elsewhere: bool = Field(description="whether it was made elsewhere, and its steps uploaded")
    status: str
    message: str
    verdict: str
    sentence: str
    detail: dict[str, Any]
    steps: int
    created_at: datetime
    updated_at: datetime
    url: str


class ReplayDetail(ReplayOut):
    progress: Progress


class ReplayList(Schema):
    replays: list[ReplayOut]


class Step(Schema):
    step: int
    task: str | None
    actor: str | None
    kind: str
    state: str | None
    epoch: int | None
    record_count: int | None
    t_us: int | None
    log: str | None
    log_offset: int | None
    channel: str | None
    buffer: int | None
    bytes: int | None
    text: str | None


class OpenOrder(Schema):
    step: int
    before: int = Field(description="the step that may as well have come after it")
    task: str = Field(description="whose that one is")


class StepPage(Schema):
    steps: list[Step]
    written: int = Field(description="Steps that can be read so far; a replay that is running writes more.")
    open_orders: list[OpenOrder] = Field(
        description="Of these steps those of which the recording does not say that they came after another one."
    )


class StateEntry(Schema):
    task: str
    key: str
    value: str | None
    step: int = Field(description="The step that last changed it.")


class StatePage(Schema):
    step: int
    entries: list[StateEntry]
    cursor: str | None


class Cause(Schema):
    ref: str = Field(description="step:N, det:…, delta:… or event:N")
    kind: str
    text: str
    row: dict[str, Any] | None = Field(description="The row of the steps or of the recording that it names.")


class CauseLink(Schema):
    effect: str
    cause: str


class CauseHop(Schema):
    ref: str
    folded: list[str] = Field(description="Trivial hops between this one and the one before it.")


class Why(Schema):
    step: int
    causes: list[Cause]
    links: list[CauseLink]
    left_out: int = Field(description="Further causes that were not followed.")
    chains: list[list[CauseHop]] = Field(
        description="From the step back to each place of the recording that it follows from, the shortest way first."
    )
    chains_left_out: int = Field(description="Further ways, to other places.")


class Effects(Schema):
    step: int
    steps: list[Step]
    links: list[CauseLink]
    left_out: int = Field(description="Further effects that were not followed.")


class Found(Schema):
    step: Step | None


class HitsLine(Schema):
    """A line of the answer: `bins` while hits are found; the last one has the other members, or `error`."""

    bins: list[list[int]] | None = Field(None, description="[bin, hits, first step, last step] each; may come again")
    hits: int | None = Field(None, description="how many in all")
    steps: int | None = Field(None, description="among how many")
    bin_count: int | None = None
    complete: bool | None = Field(None, description="whether no more steps will follow")
    why: str | None = Field(None, description="of no hit, a name in the search that no step bears, in one sentence")
    error: ErrorBody | None = None


class Landing(Schema):
    step: Step | None = Field(description="where it leads; null where it leads nowhere")
    why: str = Field(description="why it leads nowhere, in one sentence")
    instead: str = Field(description="why it leads there and not to the step with that number, in one sentence")
    breakpoints: list[int] = Field(description="those that hit there, after `continue` and `reverse-continue`")


class BreakpointIn(Schema):
    search: str = Field(min_length=1, max_length=8_192, description="text of the language, or JSON; see docs/search.md")
    label: str = Field("", max_length=120)
    enabled: bool = True


class BreakpointChange(Schema):
    search: str | None = Field(None, min_length=1, max_length=8_192)
    label: str | None = Field(None, max_length=120)
    enabled: bool | None = None


class BreakpointOut(Schema):
    id: int
    search: str
    label: str
    enabled: bool
    created_at: datetime


class BreakpointList(Schema):
    breakpoints: list[BreakpointOut]


class TagsIn(Schema):
    tags: list[Annotated[str, Field(max_length=40, pattern=r"^[^,\x00-\x1f\x7f]*$")]] = Field(max_length=20)


class NoteIn(Schema):
    text: str = Field(min_length=1, max_length=2_000, description="plain text; lines stay as they are")
    first: int = Field(ge=0, le=2**53, description="the step that it is on, or where its range begins")
    last: int | None = Field(None, ge=0, le=2**53, description="the last step of the range; without one it is `first`")


class NoteChange(Schema):
    text: str | None = Field(None, min_length=1, max_length=2_000)
    first: int | None = Field(None, ge=0, le=2**53)
    last: int | None = Field(None, ge=0, le=2**53)


class NoteOut(Schema):
    id: int
    first: int
    last: int
    text: str
    author: str
    mine: bool = Field(description="whether the caller wrote it, and may change it")
    created_at: datetime
    updated_at: datetime


class NoteList(Schema):
    notes: list[NoteOut]
