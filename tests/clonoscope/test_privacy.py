"""What is redacted is nowhere: every byte below a recording's folder is looked at, in every form that it may take."""

import base64
import contextlib
import importlib.util
import json
import os
import random
import urllib.parse
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clonoscope
from clonoscope.json_values import to_json
from clonoscope.redaction import Redaction
from replay.bundle.reader import open_bundle
from tests.clonoscope.recorded import calls_in, recording
from tests.clonoscope.retried import Broken, told_in

KEY = b"thirty-two random bytes, or such"
_NAMES = ("ada", "Zoë", 'Ł"ucja', "o\\tto", "王")
HARMLESS = "Lovelace-Street"


def forms(secret: str) -> Iterator[bytes]:
    """A text as it may stand in a file."""
    raw = secret.encode()
    yield raw
    yield json.dumps(secret)[1:-1].encode()
    yield json.dumps(json.dumps(secret))[3:-3].encode()
    yield repr(secret)[1:-1].encode()
    yield urllib.parse.quote(secret).encode()
    yield raw.hex().encode()
    yield secret.encode("utf-16-le")
    yield secret.encode("utf-16-be")
    for data in (raw, secret.encode("utf-16-le"), json.dumps(secret)[1:-1].encode()):
        for shift in range(3):
            # Of each alignment, what does not depend on its neighbours.
            encoded = base64.b64encode(b"\0" * shift + data)
            yield encoded[4 if shift else 0 : len(encoded) // 4 * 4 - 4]


def found_in(folder: Path, secrets: list[str]) -> list[tuple[str, str, bytes]]:
    """Where any of them stands, in which form."""
    found = []
    for path in folder.rglob("*"):
        parts = [("", path.read_bytes())] if path.is_file() else []
        if parts and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                parts += [(name, archive.read(name)) for name in archive.namelist()]
        for name, data in parts:
            for secret in secrets:
                found += [(f"{path.name} {name}", secret, form) for form in forms(secret) if form in data]
    return found


class World:
    """Random nested values, and the secrets that were put into them."""

    def __init__(self, seed: int):
        self.chooser = random.Random(seed)
        self.secrets: list[str] = []

    def secret(self) -> str:
        made = f"{self.chooser.choice(_NAMES)}-{self.chooser.randrange(10**12)}@example.org"
        self.secrets.append(made)
        return made

    def person(self, depth: int = 0) -> Any:
        made: dict[str, Any] = {"email": self._held(depth), "city": HARMLESS, "age": self.chooser.randrange(99)}
        if depth < 3:
            for name in self.chooser.sample(["friends", "parent", "as text", "as bytes", "wide"], 2):
                made[name] = self._nested(name, depth)
        return made

    def _held(self, depth: int) -> Any:
        kind = self.chooser.randrange(5)
        if kind == 0:
            return [self.secret(), {"work": self.secret()}]
        if kind == 1:
            return {"work": self.secret(), "home": [self.secret()]}
        return self.secret().encode() if kind == 2 else self.secret()

    def _nested(self, name: str, depth: int) -> Any:
        one = self.person(depth + 1)
        if name == "friends":
            return [one, [self.person(depth + 1)], HARMLESS]
        text = json.dumps(to_json(one), ensure_ascii=self.chooser.random() < 0.5)
        if name == "as text":
            return f" {text}\n"
        if name == "as bytes":
            return text.encode(self.chooser.choice(["utf-8", "utf-16", "utf-16-le"]))
        return {"deep": {"deeper": one}} if name == "wide" else one


def job_with(folder: Path, secret: str) -> Any:
    """A module with a secret in a line that calls."""
    path = folder / "source"
    path.mkdir()
    (path / "job.py").write_text(
        f"import clonoscope\ndef work(ask):\n    return clonoscope.external(ask, {secret!r})\n", "utf-8"
    )
    spec = importlib.util.spec_from_file_location("job", path / "job.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def given_back(value: Any) -> Any:
    """A look-up."""
    return value


def record_all(made: clonoscope.Recording, world: World, folder: Path) -> None:
    """Everywhere that a job's data goes."""
    task = made.task("p")

    def refuse(_who: Any) -> None:
        raise LookupError(world.secret(), world.person())

    def unwritable(_given: object) -> Any:
        raise ValueError(f"not {world.secret()}")

    for number in range(3):
        with contextlib.suppress(Broken), task.epoch(number):
            person = world.person()
            data = json.dumps(to_json(person)).encode()
            task.take(number, topic="people", record=[{"email": world.secret()}, 0, person], data=data)
            assert clonoscope.external(given_back, person) is person
            job_with(folder / f"{number}", world.secret()).work(lambda who: {"email": who})
            for function, encode in ((refuse, None), (lambda _: 5, unwritable)):
                with contextlib.suppress(LookupError):
                    clonoscope.external(function, 1, encode=encode)
            task.output([{"email": world.secret()}, 0, world.person()], id="42")
            task.message("out", json.dumps({"email": world.secret()}), json.dumps({"email": world.secret()}).encode())
            task.state(number + 1, {"seen": [world.person()], "email": world.secret()})
            task.event("noticed", email=world.secret(), by={"email": world.secret()})
            if number == 1:
                raise Broken(world.secret())
    made.task("q").fail(f"{world.secret()} could not be reached")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "settings",
    [
        {"redact": ["email"], "payload": "full"},
        {"allow": ["city", "friends.city", "seen.city", "*.deeper.city"], "payload": "full"},
        {"payload": "none"},
    ],
    ids=["redact", "allow", "none"],
)
def test_what_is_redacted_is_nowhere(seed: int, settings: Any, tmp_path: Path) -> None:
    world = World(seed)
    sources = tmp_path / "sources"
    for number in range(3):
        (sources / str(number)).mkdir(parents=True)
    with recording(tmp_path / "recorded", key=KEY, **settings) as made:
        record_all(made, world, sources)
        made.dump(tmp_path / "recorded" / "bundle")
        made.dump()
        assert made.faults == []
    assert len(world.secrets) > 30
    found = found_in(tmp_path / "recorded", [*world.secrets, KEY.decode()])
    assert not found, f"seed {seed}: {found[:5]}"
    left = b"".join(path.read_bytes() for path in (tmp_path / "recorded" / "bundle").rglob("*") if path.is_file())
    assert (HARMLESS.encode() in left) is (settings.get("payload") != "none")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("ada@example.org")


def raising(fault: Exception) -> Any:
    raise fault


@pytest.mark.parametrize("settings", [{"redact": ["email"], "payload": "full"}, {"payload": "none"}, {"allow": ["x"]}])
def test_nothing_of_it_is_in_the_programs_own_log(
    settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Odd(dict[str, Any]):
        def items(self) -> Any:
            raise ValueError("ada@example.org")

    values = [Odd(a=1), {"email": Odd(a=1)}, {"email": "\ud800 ada@example.org"}, {Odd: "ada@example.org"}]
    with caplog.at_level(0), recording(tmp_path, **settings) as made, made.task("p").epoch(0) as task:
        task.take(0, record=["k", 0, values[0]])
        for value in values:
            assert clonoscope.external(given_back, value) is value
            clonoscope.external(given_back, value, encode=lambda _: raising(ValueError("ada@example.org")))
            clonoscope.external(given_back, value, encode=lambda _: raising(Unspeakable()))
            task.output([value, 0, value], id="7")
            task.message("out", "k", value)
            task.state(1, value)
            task.event("noticed", email=value)
        for fault in (Unspeakable(), UnicodeDecodeError("utf-8", b"ada@example.org", 0, 1, "ada@example.org")):
            with pytest.raises(type(fault)):
                clonoscope.external(raising, fault)
        made.dump()
    assert made.faults and "ada@" not in "".join(made.faults) + caplog.text
    assert found_in(tmp_path, ["ada@example.org"]) == []


def test_the_search_finds_what_is_not_redacted(tmp_path: Path) -> None:
    world = World(1)
    for number in range(3):
        (tmp_path / "sources" / str(number)).mkdir(parents=True)
    with recording(tmp_path / "recorded", payload="full") as made:
        record_all(made, world, tmp_path / "sources")
        made.dump()
    found = {secret for _, secret, _ in found_in(tmp_path / "recorded", world.secrets)}
    assert len(found) > 0.5 * len(world.secrets)


def test_equal_values_are_equal_tokens_in_every_process_that_has_the_key(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "key").write_bytes(KEY + b"\n")

    def token(name: str, **settings: Any) -> str:
        with recording(tmp_path, name=name, redact=["email"], **settings) as made, made.task("p").epoch(0):
            clonoscope.external(lambda: {"email": "ada@example.org"})
            with open_bundle(made.dump(tmp_path / f"{name}.zip")) as bundle:
                (call,) = calls_in(bundle, "p.0", 0, 0)
        return str(call["value"]["email"]["redacted"])

    with_key = {token("a", key=KEY), token("b", key=tmp_path / "key"), token("c", key=str(tmp_path / "key"))}
    monkeypatch.setenv("CLONOSCOPE_KEY_FILE", str(tmp_path / "key"))
    with_key.add(token("d"))
    monkeypatch.delenv("CLONOSCOPE_KEY_FILE")
    without = {token("e"), token("f")}
    assert len(with_key) == 1 and len(without) == 2 and not with_key & without


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"key": b"short"}, "has 5 bytes"),
        ({"key": "no such file"}, "can't be read"),
        ({"allow": ["a..b"]}, "allow names the path"),
        ({"retry": "replay", "payload": "none"}, "Give both a key"),
        ({"retry": "replay", "redact": ["email"]}, "can't be compared"),
    ],
)
def test_what_can_not_be_meant_is_refused(settings: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(clonoscope.WrongUse, match=said):
        clonoscope.start("orders", dir=tmp_path, **settings)


SECRET = "ada@example.org"
WITH_IT: dict[str, Any] = {
    "an object": {"customer": {"email": SECRET}},
    "a flat row": {"customer.email": SECRET},
    "a flat row, further down": {"order.customer.email": SECRET, "order.customer.email.work": SECRET},
    "half of a flat row": {"order.customer": {"email": SECRET}},
    "lines of JSON": f'{{"customer": {{"email": "{SECRET}"}}}}\n{{"a": 1}}',
    "JSON behind a schema's number": f'\0\0\0\0\x07{{"customer": {{"email": "{SECRET}"}}}}',
    "bytes with a schema's number": f'\0\0\0\0\x07{{"customer": {{"email": "{SECRET}"}}}}'.encode(),
    "JSON in JSON in JSON": json.dumps(json.dumps(json.dumps({"customer": {"email": SECRET}}))),
    "JSON behind a mark": "\ufeff" + json.dumps({"customer": {"email": SECRET}}),
    "what Python prints": str({"customer": {"email": SECRET}}),
    "another form of a letter": {"Zoe\u0308": SECRET},
    "an escaped letter": 'x {"Zo\\u00eb": "' + SECRET + '"}',
}


@pytest.mark.parametrize("value", WITH_IT.values(), ids=WITH_IT)
def test_a_path_leads_to_what_it_means_however_that_is_written(value: Any, tmp_path: Path) -> None:
    with (
        recording(tmp_path, redact=["customer.email", "Zo\u00eb"], payload="full") as made,
        made.task("p").epoch(0) as task,
    ):
        assert clonoscope.external(given_back, value) is value
        task.take(0, record=["k", 0, {"deeper": [value]}])
        task.output(["k", 0, value])
        task.message("out", "k", value if isinstance(value, str | bytes) else json.dumps(value))
        task.state(1, [value])
        made.dump(tmp_path / "bundle")
    assert found_in(tmp_path, [SECRET]) == []


def test_what_is_called_otherwise_stays(tmp_path: Path) -> None:
    values = [{"a.b": 1, "email": 2, "customers.email": 3}, "email of a customer", '{"email": 1', b"\xff{"]
    redaction = Redaction(["customer.email"])
    assert [redaction.kept(to_json(value)) for value in values[:2]] == values[:2]
    assert redaction.kept(values[2]) != values[2]  # it may be what is meant


@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("settings", [{"redact": ["email"]}, {"payload": "none"}, {"allow": ["city"]}])
def test_a_redacted_answer_is_asked_again_and_compared(settings: Any, stays: bool, tmp_path: Path) -> None:
    def look_up() -> dict[str, str]:
        return {"email": emails.pop(), "city": HARMLESS}

    emails = ["ada@example.org" if stays else "eve@example.org", "ada@example.org"]
    given = []
    for fails in (True, False):
        retried = recording(tmp_path, retry="replay", key=KEY, dump_on=(), **settings)
        with retried as made, contextlib.suppress(Broken), made.task("p").epoch(0) as task:
            task.take(0, topic="in", data=b"one")
            given.append((clonoscope.external(look_up), clonoscope.random()))
            if fails:
                raise Broken
    assert (given[0] == given[1]) is stays and not emails
    (told,) = told_in(tmp_path)
    assert (told["how"], told["answers"]) == (("used-up", 2) if stays else ("not-given-back", 0))
    assert found_in(tmp_path, ["ada@example.org", "eve@example.org"]) == []


def test_the_key_is_not_in_the_environment_of_what_is_recorded(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SOME_PASSWORD", "correct-horse-battery")
    with recording(tmp_path) as made, made.task("p").epoch(0):
        clonoscope.time()
        made.dump()
    assert found_in(tmp_path, [os.environ["SOME_PASSWORD"]]) == []
