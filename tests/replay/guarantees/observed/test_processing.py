"""Processing of ordinary engines' recordings: exactly once only where nothing ran again, as no state is recorded."""

from collections import Counter
from pathlib import Path

from replay.bundle.reader import open_bundle
from replay.guarantees.ledger import delivery, processing
from tests.replay.guarantees.observed.worlds import World


def test_what_ran_again_is_undecided_and_what_did_not_counted_once(tmp_path: Path) -> None:
    verdicts: Counter[tuple[bool, str]] = Counter()
    for seed in range(150):
        world = World.random(seed)
        path = world.write(tmp_path / f"{seed}.zip")
        with open_bundle(path) as bundle:
            said = processing(bundle)
        epochs = Counter(epoch for attempt, epoch in world.lines)
        again = any(count > 1 for count in epochs.values())
        verdicts[again, said.verdict] += 1
        assert said.verdict == "undecided" or not again, f"seed {seed}: {said}"
        assert said.verdict != "undecided" or said.lacks, f"seed {seed}: {said}"
        assert said.numbers["job"] == said.verdict, f"seed {seed}"
    assert verdicts[True, "undecided"] and verdicts[False, "exactly once"], verdicts


def test_outputs_that_were_given_again_are_claims_with_both_lines(tmp_path: Path) -> None:
    found = 0
    for seed in range(60):
        path = World.random(seed).write(tmp_path / f"{seed}.zip")
        with open_bundle(path) as bundle:
            section = delivery(bundle)
        for claim in section.claims:
            found += 1
            assert section.verdict == "at least once" and len(claim.evidence) > 1, f"seed {seed}: {claim}"
            assert all(one.startswith("sink:") for one in claim.evidence), f"seed {seed}: {claim}"
    assert found
