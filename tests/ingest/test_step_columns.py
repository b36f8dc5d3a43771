"""Steps made into columns thousands at a time say what each of them says by itself."""

import random
from itertools import chain
from typing import Any

import pyarrow as pa
import pytest

from ingest.lake.step_columns import columns_of
from ingest.lake.step_schema import CAUSES, STEPS
from ingest.lake.step_text import texts
from ingest.lake.writers import batch_of
from replay.debugger.ports import Step, StepForm
from replay.debugger.writing.flow_words import written
from replay.debugger.writing.sentences import AS_IT_IS, Sentence

NUMBERS = (0, 1, 9, 10, 99, 100, 999, 1_000, 1_001, 10_000, 999_999, 1_000_000, 1_000_001, 2**31, 2**62, 2**63 - 1)
WORDS = ("", "a", "'k01'", "€", "{}", "{:,}", "two words", "é\n", "\\x00")


def number(rng: random.Random) -> int:
    return rng.choice(NUMBERS) if rng.random() < 0.5 else rng.randrange(10 ** rng.randrange(1, 18))


@pytest.mark.parametrize("seed", range(20))
def test_many_sentences_at_once_are_those_of_each(seed: int):
    rng = random.Random(f"sentences {seed}")
    gaps = rng.choices(("{}", "{:d}", "{:,}"), k=rng.randrange(1, 5))
    sentence = Sentence("".join(f"{rng.choice(('', 'and ', '{{}} '))}{gap}" for gap in gaps) + rng.choice(("", ".")))
    below_zero = rng.random() < 0.3
    values = [
        tuple(rng.choice(WORDS) if gap == "{}" else number(rng) * (-1 if below_zero else 1) for gap in gaps)
        for _ in range(rng.choice((1, 2, 200)))
    ]
    said = texts(sentence, values)
    assert said.type == pa.string()
    assert said.to_pylist() == [sentence.of(one) for one in values], f"seed {seed}: {sentence.template}"


def test_braces_of_a_name_are_no_gaps():
    sentence = written(1, "a.0>{b}.1")
    assert sentence.of(("'k'", 1_234)) == "Writes a record with key 'k' to output 1 ({b}.1): 1,234 bytes."
    assert texts(sentence, [("'k'", 1_234)]).to_pylist() == [sentence.of(("'k'", 1_234))]


def drawn(rng: random.Random, count: int) -> list[Step]:
    counting, naming = Sentence("Counts {:,} of {}."), Sentence("{} it is.")
    forms = [
        StepForm(rng.choice(("a.0", "b.1")), rng.choice(("main", "out-0")), kind, log, channel, sentence)
        for kind, log, channel, sentence in (
            ("append", "main", None, counting), ("append", None, "a>b", counting),
            ("take-buffer", None, None, naming), ("finish", None, None, AS_IT_IS),
        )
    ]  # fmt: skip
    values: dict[Sentence, Any] = {
        counting: lambda: (number(rng), rng.choice(WORDS)),
        naming: lambda: (rng.choice(WORDS),),
        AS_IT_IS: lambda: (rng.choice(WORDS),),
    }
    steps = []
    for n in range(count):
        form = rng.choice(forms)
        stands = rng.choice(("Running", "Running", "Replaying")), rng.randrange(3), number(rng), number(rng)
        own = (rng.choice((None, number(rng))) for _ in range(3))
        of_steps = tuple(rng.randrange(n + 1) for _ in range(rng.choice((0, 1, 1, 2))))
        of_others = tuple(f"event:{rng.randrange(9)}" for _ in range(rng.choice((0, 0, 1, 3))))
        steps.append(Step(n, form, *stands, *own, values[form.sentence](), of_steps, of_others))
    return steps


@pytest.mark.parametrize("seed", range(20))
def test_columns_are_the_rows_and_the_causes_of_each_step(seed: int):
    rng = random.Random(f"steps {seed}")
    steps = drawn(rng, rng.choice((1, 2, 50, 300)))
    columns, causes, rows = columns_of(list(chain.from_iterable(steps)))
    written_steps = batch_of(STEPS.schema, columns, len(steps)).to_pylist()
    assert written_steps == [step.row()._asdict() for step in steps], f"seed {seed}"
    found = batch_of(CAUSES.schema, causes, rows).to_pylist()
    expected = [{"step": step.step, "cause": cause} for step in steps for cause in step.causes]
    assert found == expected, f"seed {seed}"
