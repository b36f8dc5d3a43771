"""Why and effects of real replays, against what plain Python says of the same steps."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dashboard.queries import effects, why
from dashboard.queries.why_line import _href, why_line
from dashboard.queries.why_path import TRIVIAL
from ingest.lake.step_reader import StepReader
from ingest.lake.steps import ParquetStepSink
from replay.debugger.ports import Told
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import Kept, bundle_of, world_of

HOPS = 12
SAMPLED = 25


class Both(Kept):
    """Keeps what is written to the lake."""

    def __init__(self, sink: ParquetStepSink) -> None:
        super().__init__()
        self.sink = sink

    def step(self, told: Told) -> None:
        super().step(told)
        self.sink.step(told)


@dataclass
class Made:
    name: str
    kept: Kept
    reader: StepReader
    causes: dict[int, list[str]]

    def sampled(self) -> list[int]:
        """Of every kind the first and the last step, and some more."""
        kinds: dict[str, list[int]] = defaultdict(list)
        for row in self.kept.rows:
            kinds[row.kind].append(row.step)
        ends = {step for steps in kinds.values() for step in (steps[0], steps[-1])}
        rng = random.Random(self.name)
        return sorted(ends | set(rng.sample(range(len(self.kept.rows)), min(SAMPLED, len(self.kept.rows)))))


def recordings() -> dict[str, Any]:
    named = {f"world {seed}": world_of(seed)[1] for seed in (800, 1014, 1021, 1157)}
    return named | {"pass-through": failing("map-1.0@115"), "in one blow": failing("source.0@120+map-1.0@120")}


@pytest.fixture(
    scope="module", params=["world 800", "world 1014", "world 1021", "world 1157", "pass-through", "in one blow"]
)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    bundle = bundle_of(recordings()[request.param])
    sink = ParquetStepSink(tmp_path_factory.mktemp("why") / "replay")
    kept = Both(sink)
    replay(bundle, failure=min(Story.read(bundle.events()).failures), sink=kept)
    sink.finish()
    causes: dict[int, list[str]] = defaultdict(list)
    for step, cause in kept.causes:
        causes[step].append(cause)
    return Made(request.param, kept, StepReader(sink.folder), causes)


@pytest.fixture(autouse=True)
def empty_lake(tmp_path: Path, settings: Any) -> None:
    settings.LAKE_ROOT = tmp_path


def is_step(ref: str) -> bool:
    return ref.startswith("step:")


def shortest(causes: dict[int, list[str]], step: int) -> int:
    """How many steps stand on the shortest way to the recording, both ends included."""
    far, edge = 1, {step}
    while not any(not is_step(cause) for one in edge for cause in causes[one]):
        far, edge = far + 1, {int(cause[5:]) for one in edge for cause in causes[one]}
        assert edge, f"step {step} leads nowhere"
    return far


def test_every_chain_leads_to_the_recording_and_the_first_is_the_shortest(made: Made) -> None:
    for step in made.sampled():
        said = why.chain(made.reader, "j_none", step, HOPS)
        lengths = []
        for chain in said["chains"]:
            refs = [ref for hop in chain for ref in (*hop.folded, hop.ref)]
            steps = refs[: next(n for n, ref in enumerate(refs) if not is_step(ref))]
            assert steps[0] == f"step:{step}" and not is_step(refs[len(steps)]), (made.name, step)
            for effect, cause in zip(steps, [*steps[1:], refs[len(steps)]], strict=True):
                assert cause in made.causes[int(effect[5:])], (made.name, step, effect, cause)
            lengths.append(len(steps))
        assert lengths == sorted(lengths) and lengths[0] == shortest(made.causes, step), (made.name, step)
        ends = [next(hop.ref for hop in chain if not is_step(hop.ref)) for chain in said["chains"]]
        assert len(ends) == len(set(ends)), (made.name, step)


def test_only_the_walk_from_state_to_state_is_folded_and_unfolds_to_the_whole_chain(made: Made) -> None:
    folded = 0
    for step in made.sampled():
        for chain in why.chain(made.reader, "j_none", step, HOPS)["chains"]:
            for hop in chain:
                folded += len(hop.folded)
                assert len(hop.folded) != 1, "one alone takes no more room than that it is hidden"
                assert all(made.kept.rows[int(ref[5:])].kind in TRIVIAL for ref in hop.folded), (made.name, step)
        line, everything = why_line(made.reader, "j_none", step), why_line(made.reader, "j_none", step, everything=True)
        unfolded = [link.ref for shown in line.line for link in (*shown.folded, shown)]
        assert unfolded == [link.ref for link in everything.line] and not is_step(unfolded[-1]), (made.name, step)
    assert folded or made.name != "world 1014"


@pytest.mark.parametrize(
    ("ref", "row", "leads"),
    [
        ("event:7", {"n": 7, "at": "map-1.0", "t_us": 5}, "/jobs/j_one/paths/?task=map-1.0&t=5"),
        ("delta:a.0>b.0#1/map-1.0/main", {"task": "map-1.0"}, "/jobs/j_one/paths/?task=map-1.0"),
        ("event:8", {"n": 8, "t_us": 5}, ""),
        ("event:9", None, ""),
    ],
)
def test_what_the_recording_names_leads_to_the_page_that_shows_it(ref: str, row: Any, leads: str) -> None:
    assert _href("j_one", {"ref": ref, "row": row}, None) == leads


def test_a_determinants_history_is_its_merge_its_answer_and_the_delta_that_had_brought_it(made: Made) -> None:
    for step, *_ in made.kept.determinants[:: max(1, len(made.kept.determinants) // 20)]:
        refs = [hop.ref for hop in why.chain(made.reader, "j_none", step, HOPS)["chains"][0]]
        causes = made.causes[step]
        kinds = ["det" if ref.startswith("det") else made.kept.rows[int(ref[5:])].kind if is_step(ref) else
                 ref.partition(":")[0] for ref in refs]  # fmt: skip
        returned = any(ref.startswith("delta:") for ref in causes)
        assert kinds[1:] == (["det", "merge", "answer", "event", "delta"] if returned else ["det"]), (made.name, step)
        assert set(refs[1:4]) | {refs[-1]} <= set(causes) or not returned, (made.name, step)


@pytest.mark.parametrize("depth", [1, 3])
def test_effects_are_the_exact_inverse_of_causes(made: Made, depth: int) -> None:
    for step in made.sampled():
        reached, edge, links = {step}, {step}, set()
        for _ in range(depth):
            found = {
                (at, cause)
                for at, of in made.causes.items()
                for cause in of
                if is_step(cause) and int(cause[5:]) in edge
            }
            links |= {(f"step:{at}", cause) for at, cause in found}
            edge = {at for at, _ in found} - reached
            reached |= edge
        said = effects.of(made.reader, step, most=10**9, depth=depth)
        assert [row["step"] for row in said["steps"]] == sorted(reached - {step}), (made.name, step)
        assert {(one["effect"], one["cause"]) for one in said["links"]} == links and said["left_out"] == 0
        few = effects.of(made.reader, step, most=3)
        direct = {at for at, of in made.causes.items() if f"step:{step}" in of}
        assert [row["step"] for row in few["steps"]] == sorted(direct)[:3] and few["left_out"] == max(
            0, len(direct) - 3
        )
