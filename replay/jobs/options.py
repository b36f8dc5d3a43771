"""The options of `record`, checked as a whole: what this version can't do is refused, never left out in silence."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from replay.jobs.kill_options import LONGEST_MS, parse_kill, parse_kill_in, parse_suspect
from replay.jobs.option_fields import (
    NumberOrFull,
    WrongOption,
    flag_of,
    measure,
    number,
    number_or_full,
    option_of,
    texts,
    word,
)

__all__ = ["RecordOptions", "WrongOption", "parse_kill", "parse_kill_in", "parse_sharing_depth"]

MAX_PARALLELISM = 100
MAX_DEPTH = 32
_PROTOCOLS = ("clonos", "none", "pessimistic", "optimistic", "coordinated")
_OTHER_PROTOCOLS = (
    "unaligned",
    "uncoordinated",
    "induced",
    "tree-clocks",
    "warden",
    "drifting",
    "transactional",
    "micro-batch",
    "strong",
)


def parse_sharing_depth(text: str) -> int | None:
    """`full` is None."""
    return number_or_full(text, "--sharing-depth")


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """As on the command line, a field an option: `record` reads them from here, and the manifest's command too.

    `sharing_depth` None is full; `depth` and `time` None are what the job itself says; `load` None goes by the rate.
    """

    job: str = "pass-through"
    seed: int = number(0, 0, (1 << 63) - 1, "of everything that is left to chance")
    events: int = number(10_000, 1, 100_000_000, "records that the sources read")
    parallelism: int = number(2, 1, MAX_PARALLELISM, "tasks per vertex")
    depth: int | None = number(None, 2, MAX_DEPTH, "vertices, source and sink included")
    checkpoint_interval_ms: int = number(1000, 10, LONGEST_MS, "virtual time between checkpoints")
    sharing_depth: int | None = field(
        default=None,
        metadata={
            "option": NumberOrFull(
                "hops that determinants travel: a number or full",
                flag="--sharing-depth",
                metavar="0|1|…|full",
                low=0,
                high=MAX_DEPTH,
            )
        },
    )
    standby: int = number(1, 0, 8, "standby tasks per task")
    spill: str = word("memory", ("memory", "eager", "availability", "oldest"), "where the in-flight log is kept")
    sink: str = word(
        "plain",
        ("plain", "transactional", "idempotent", "determinant"),
        "how sinks write: at once; by transactions; by a write-ahead log; to a world that keeps determinants",
    )
    time: str | None = word(None, ("processing", "ingestion", "event"), "which time the job runs on")
    kills: tuple[str, ...] = texts(
        "--kill",
        "TASK@MS[+TASK@MS]",
        parse_kill,
        "a failure of a task, or of a host as host-1@MS; several in one blow joined by +; repeatable",
    )
    kills_in: tuple[str, ...] = texts(
        "--kill-in", "TASK:STATE", parse_kill_in, "a failure when the task next enters that recovery state; repeatable"
    )
    suspects: tuple[str, ...] = texts(
        "--suspect", "TASK@MS", parse_suspect, "a task that is taken for failed and is not; repeatable"
    )
    hosts: int | None = number(None, 1, 10_000, "hosts; without, as many as tasks and standbys need")
    slots: int | None = number(None, 1, 10_000, "tasks and standbys that a host takes; without, all it is given")
    snapshots: str = word("full", ("full", "incremental"), "what a checkpoint uploads: full or incremental")
    checkpoint_timeout_ms: int = number(600_000, 1, LONGEST_MS, "after what time a pending checkpoint is given up")
    checkpoint_pause_ms: int = number(0, 0, LONGEST_MS, "at least so long between two checkpoints")
    back_off: float = measure(
        3.0, 0, 1000, "for how many intervals after a failure no checkpoint begins", metavar="INTERVALS"
    )
    on_lost: str = word(
        "rollback", ("rollback", "continue"), "where lost choices may bind a survivor: rollback or continue"
    )
    protocol: str = word("clonos", _PROTOCOLS, "the fault-tolerance protocol", later=_OTHER_PROTOCOLS)
    delta_layout: str = word("flat", ("flat", "grouping"), "how deltas are laid out: flat or grouping")
    buffer_bytes: int = number(4096, 64, 1 << 24, "how large a buffer is", metavar="BYTES")
    rate_per_s: float = measure(2000.0, 0.001, 1e9, "records that come into being in a second", metavar="RECORDS")
    load: float | None = measure(
        None, 0.1, 1000, "the rate as a percentage of the most that the job can process", metavar="PERCENT"
    )
    rate_shape: str = word(
        "sine", ("steady", "sine", "square"), "how the rate of NEXMark's events rises and falls", special=True
    )
    rate_swing: float = measure(
        50.0, 0, 99, "by how much NEXMark's rate rises and falls", metavar="PERCENT", special=True
    )
    rate_period_ms: int = number(2000, 10, LONGEST_MS, "how long NEXMark's rate takes for it", special=True)
    record_bytes: int = number(119, 116, 1 << 20, "the average size of a NEXMark record", metavar="BYTES", special=True)
    held_back_ms: int = number(100, 0, 3_600_000, "how late a NEXMark event that is held back may come", special=True)
    held_back_one_in: int = number(10, 1, 1_000_000, "one NEXMark event in so many is held back", special=True)
    window_ms: int | None = number(
        None, 1, LONGEST_MS, "the length of a window, or of the gap that ends a session", special=True
    )
    slide_ms: int | None = number(None, 1, LONGEST_MS, "how long after a window the next one begins", special=True)
    watermark_ms: int = number(50, 1, LONGEST_MS, "virtual time between a source's watermarks", special=True)
    watermark_records: int = number(
        0, 0, 1_000_000_000, "records between a source's watermarks; 0 goes by --watermark-ms", special=True
    )
    clock_period_ms: int = number(
        0, 0, LONGEST_MS, "how often tasks read the clock; 0 whenever they ask for the time", special=True
    )
    stream: str = word(
        "mixed",
        ("mixed", "keyed", "non-keyed"),
        "records go by key, straight on, or both in turn",
        special=True,
    )
    state_access: float = measure(
        0.0, 0, 100, "how probable it is that a record changes the state's arrays", metavar="PERCENT", special=True
    )
    random: str = word(
        "call", ("call", "seed"), "random numbers with a determinant each, or a seed an epoch", special=True
    )
    record_cost_us: int = number(40, 1, 60_000_000, "what a task spends on a record: the processing difficulty")
    state_mib: float = measure(
        0.0, 0, 1 << 20, "what each task's state weighs besides what it really holds", metavar="MIB"
    )
    rtt_ms: float = measure(0.5, 0, LONGEST_MS, "there and back again over the network", metavar="MS")
    bandwidth_mib_s: float = measure(1024.0, 0.001, 1e9, "of a connection", metavar="MIB")
    determinant_pool_mib: float = measure(
        16.0, 0.01, 1 << 20, "a task's memory for determinants, its own and those it holds", metavar="MIB"
    )
    in_flight_pool: int | None = number(
        None, 1, 1 << 30, "buffers that a task keeps in memory for receivers that fail", metavar="BUFFERS"
    )
    spill_interval_ms: float = measure(
        50.0, 0.1, LONGEST_MS, "how often --spill availability looks at that pool", metavar="MS"
    )
    spill_threshold: float = measure(
        0.4, 0, 0.99, "the share of free buffers at which --spill availability and oldest write", metavar="SHARE"
    )
    prefetch: int = number(10, 0, 1 << 20, "buffers that a replay reads ahead from disk", metavar="BUFFERS")
    disk_mib_s: float = measure(500.0, 0.001, 1e9, "of a task's disk", metavar="MIB")
    flush_ms: float = measure(20.0, 0, LONGEST_MS, "after what time a buffer leaves that is not full", metavar="MS")
    heartbeat_ms: int = number(100, 1, LONGEST_MS, "how often a task lets the coordinator hear that it lives")
    heartbeat_timeout_ms: int = number(500, 2, LONGEST_MS, "after what silence a task counts as failed")

    def __post_init__(self) -> None:
        for one in fields(self):
            option, value = option_of(one), getattr(self, one.name)
            if option is not None and value is not None:
                option.check(flag_of(one), value)

    def command(self) -> str:
        """The command line that records the same again; without defaults, `--out`, `--data` and `--json`."""
        parts = ["record", self.job]
        for one in fields(self):
            value = getattr(self, one.name)
            if option_of(one) is None or value == one.default:
                continue
            values = value if isinstance(value, tuple) else (value,)
            parts += [f"{flag_of(one)} {''.join(str(shown).split())}" for shown in values]
        return " ".join(parts)
