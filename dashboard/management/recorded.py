"""What `record` says for people when it is done."""

from __future__ import annotations

from typing import Any

from replay.debugger.writing.words import counted


def recorded_words(summary: dict[str, Any]) -> str:
    """A few lines: records, checkpoints, logs and buffers, then every failure with its recovery, phase by phase."""
    lines = [
        f"Recorded {summary['job']} into {summary['out']}: {summary['records']:,} records, "
        f"{counted(len(summary['failures']), 'failure')}.",
        f"  {summary['duration_ms']:,} ms of virtual time, {summary['checkpoints_completed']:,} checkpoints, "
        f"{summary['events']:,} events, {summary['bundle_bytes']:,} bytes.",
        f"  {summary['records_written']:,} records came out, {_deliveries(summary)}.",
        f"  {summary['buffers_sent']:,} buffers of {summary['payload_bytes']:,} bytes carried "
        f"{summary['delta_bytes']:,} bytes of deltas: {summary['piggyback_percent']} % on top.",
        f"  Determinants: {_determinants(summary['logs'])}.",
    ]
    lines += [f"  {_failure(one)}" for one in summary["failures"]]
    never = summary["kills_not_made"]
    return "\n".join([*lines, *([f"  Struck nothing: {', '.join(never)}."] if never else [])])


def _deliveries(summary: dict[str, Any]) -> str:
    again, lost = summary["duplicates"], summary["losses"]
    twice = "how many of them again the outside knows" if again is None else f"{again:,} of them again"
    return twice if lost is None else f"{twice}; nothing came out of {lost:,} source records"


def _determinants(logs: dict[str, Any]) -> str:
    kinds = [
        f"{count:,} {kind} ({logs['determinant_bytes'].get(kind, 0):,} bytes)"
        for kind, count in sorted(logs["determinants"].items())
    ]
    return ", ".join(kinds) or "none"


def _failure(failure: dict[str, Any]) -> str:
    who = f"{failure['task']}, attempt {failure['attempt']}, failed at {failure['at_ms']:,} ms"
    if failure["running_again_ms"] is None:
        return f"{who} and never ran again."
    took = failure["running_again_ms"] - failure["at_ms"]
    caught_up = failure["caught_up_ms"]
    behind = "" if caught_up is None else f", caught up after {caught_up - failure['at_ms']:,} ms"
    back = f"{failure['determinant_bytes_returned']:,} bytes of determinants returned"
    phases = ", ".join(f"{one['phase']} after {one['us'] / 1000:.1f}" for one in failure["phases"])
    return f"{who}; running again after {took:,} ms{behind}; {back}{f' (ms: {phases})' if phases else ''}."
