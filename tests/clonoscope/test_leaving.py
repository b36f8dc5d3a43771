"""Before a bundle leaves: secrets that were planted are found and not repeated, and who has no key reads nothing."""

import base64
import gzip
import hashlib
import io
import json
import random
import string
import zipfile
from pathlib import Path
from typing import Any

import pytest

import clonoscope
from clonoscope import encryption
from clonoscope.command import main
from clonoscope.scanning import scan
from replay.bundle.containers import open_container
from replay.bundle.reader import open_bundle
from replay.errors import BundleError, ReplayError
from tests.clonoscope.recorded import recording


def drawn(chooser: random.Random, letters: str, count: int) -> str:
    return "".join(chooser.choices(letters, k=count))


_WORD = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits


def planted(seed: int) -> dict[str, str]:
    """By kind, a text with a secret in it."""
    chooser = random.Random(seed)
    claims = [json.dumps({"alg": drawn(chooser, _WORD, 9)}).encode() for _ in "ab"]
    segment = [base64.urlsafe_b64encode(one).decode().rstrip("=") for one in claims]
    hook = "/".join([f"T{drawn(chooser, _UPPER, 8)}", f"B{drawn(chooser, _UPPER, 8)}", drawn(chooser, _WORD, 24)])
    return {
        "an AWS access key": "AKIA" + drawn(chooser, _UPPER, 16),
        "a Google API key": "AIza" + drawn(chooser, _WORD, 35),
        "a GitHub token": "ghp_" + drawn(chooser, _WORD, 36),
        "a GitLab token": "glpat-" + drawn(chooser, _WORD, 20),
        "a Slack token": "xoxb-" + drawn(chooser, string.digits, 12) + "-" + drawn(chooser, _WORD, 24),
        "a Slack webhook": f"https://hooks.slack.com/services/{hook}",
        "a Stripe key": "sk_live_" + drawn(chooser, _WORD, 24),
        "a JSON web token": ".".join([*segment, drawn(chooser, _WORD, 43)]),
        "a private key": f"-----BEGIN RSA PRIVATE KEY-----\n{drawn(chooser, _WORD, 64)}\n-----END RSA PRIVATE KEY-----",
        "a password in a URL": f"postgresql://shop:{drawn(chooser, _WORD, 12)}@db.example.org/shop",
        "a secret in a URL's query": f"https://api.example.org/v1?user=7&access_token={drawn(chooser, _WORD, 24)}",
        "credentials in a header": f"Authorization: Bearer {drawn(chooser, _WORD, 32)}",
        "a secret, by the name before it": f'client_secret = "{drawn(chooser, _WORD + "+/", 40)}"',
    }


def elsewhere_written(seed: int) -> dict[str, str]:
    """By the way in which people write them down, texts with secrets in them."""
    chooser = random.Random(seed)
    chosen, token, key = f"Tr0ub4dor&{chooser.randrange(99)}", drawn(chooser, _WORD, 32), drawn(chooser, _WORD, 64)
    known = "AKIA" + drawn(chooser, _UPPER, 16)
    padded = f"{'x' * 70} {known} {'y' * 30}".encode()
    return {
        "a pair": repr([("X-Auth-Token", token)]),
        "a list of headers": json.dumps([["Authorization", token]]),
        "a scheme of its own": json.dumps({"Authorization": f"token {token}"}),
        "bytes": repr({"password": b"s3cr3t!!x"}),
        "an environment": f"environ({{'DB_PASS': '{chosen}'}})",
        "a container's variable": json.dumps({"name": "DB_PASSWORD", "value": chosen}),
        "XML": f"<password>{chosen}</password>",
        "HTML": f"password=&quot;{chosen}&quot;",
        "an arrow": f"password => {chosen}",
        "words": "host=db password='correct horse battery' dbname=shop",
        "an option": f"tool --token {token}",
        "a user's option": f"curl -u shop:{chosen} https://example.org",
        "a user's option beside others": f'curl -sS -H "Accept: */*" -ushop:{chosen} https://example.org',
        "a database's option": f"mysqldump -h db -u root -p{chosen} shop",
        "a program's arguments": json.dumps(["mysql", "-u", "root", f"-p{chosen}"]),
        "a line of a file of passwords": f"db.example.org:5432:shop:alice:{chosen}",
        "a short name and password": "Authorization: Basic YTpiYw==",
        "a URL that is signed": f"https://example.org/k?X-Amz-Signature={drawn(chooser, '0123456789abcdef', 64)}",
        "a URL that is signed otherwise": f"https://example.org/c?sp=r&sig={drawn(chooser, _WORD, 43)}%3D",
        "a file of logins": f"machine example.org login shop password {chosen}",
        "a storage's key": f"AccountName=shop;AccountKey={key};EndpointSuffix=example.org",
        "a URL of a token alone": f"https://{token}@example.org/shop.git",
        "a URL with a sign in its password": "postgresql://shop:p@ss@w0rd@db.example.org/shop",
        "a database of its own": f"jdbc:oracle:thin:shop/{chosen}@db.example.org:1521/shop",
        "a URL within a URL": f"https://example.org/?next=postgresql%3A%2F%2Fshop%3A{token}%40db%2Fshop",
        "a webhook": f"https://discord.com/api/webhooks/{drawn(chooser, string.digits, 18)}/{key}",
        "first letters": f"npm_{drawn(chooser, _WORD, 36)}",
        "a model's key": f"sk-proj-{drawn(chooser, _WORD, 40)}7",
        "base64 within base64": base64.b64encode(base64.b64encode(f"{known} and more".encode())).decode(),
        "base64 in lines": base64.encodebytes(padded).decode(),
        "packed": base64.b64encode(gzip.compress(padded)).decode(),
        "hexadecimal digits": known.encode().hex(),
    }


@pytest.mark.parametrize("place", ["answer", "bytes"])
def test_secrets_are_found_however_they_are_written(place: str, tmp_path: Path) -> None:
    for number, (way, text) in enumerate(elsewhere_written(11).items()):
        assert scan(record_with(tmp_path / str(number), text, place)), f"{way}: {text!r}"


PLACES = ("answer", "in text", "bytes", "wide", "exception", "failure", "output", "state", "event")


def record_with(folder: Path, text: str, place: str) -> Path:
    """A bundle with a text in it, somewhere."""

    def refuse() -> None:
        raise LookupError(text)

    with recording(folder) as made:
        task = made.task("p")
        with task.epoch(0):
            clonoscope.time()
            if place == "answer":
                clonoscope.external(lambda: {"text": [text]})
            elif place == "in text":
                clonoscope.external(lambda: json.dumps({"text": json.dumps({"text": text})}))
            elif place in ("bytes", "wide"):
                clonoscope.external(lambda: text.encode("utf-8" if place == "bytes" else "utf-16"))
            elif place == "exception":
                with pytest.raises(LookupError):
                    clonoscope.external(refuse)
            elif place == "output":
                task.output(["k", 0, {"text": text}])
            elif place == "state":
                task.state(1, {"text": text})
            elif place == "event":
                task.event("noticed", text=text)
        if place == "failure":
            task.fail(text)
        return made.dump(folder / "out.zip")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("place", PLACES)
def test_planted_secrets_are_found_wherever_they_stand(place: str, seed: int, tmp_path: Path) -> None:
    for number, (kind, text) in enumerate(planted(seed).items()):
        bundle = record_with(tmp_path / str(number), text, place)
        found = {one.kind.removesuffix(", in base64") for one in scan(bundle)}
        assert kind in found, f"seed {seed}: {kind} in {text!r}"


def test_a_recording_without_secrets_has_none(tmp_path: Path) -> None:
    with recording(tmp_path, redact=["token", "password"]) as made:
        with made.task("orders").epoch(0) as task:
            for offset in task.records(range(200), 0, topic="orders"):
                found = {
                    "order": offset,
                    "token": "t0ps3cr3t-x91",
                    "tokens": 17,
                    "key": f"sku-{offset}",
                    "url": "http://a.b/c?page=2&next=%2Fd%2Fe",
                    "session": f"{offset:032x}",
                    "note": "passed, see --verbose; no token, no secret: 17 of 200",
                    "sha256": hashlib.sha256(b"%d" % offset).hexdigest(),
                    "pass": True,
                    "total_tokens": 123_456_789_012 + offset,
                    "pwd": "/srv/orders/17",
                    "style": "sk-circle-fade-dot-item-large",
                }
                clonoscope.external(lambda one: one, found)
                clonoscope.uuid4()
                clonoscope.urandom(32)
                task.output([f"sku-{offset}", 0, {"note": "no password: ask", "seconds": clonoscope.time()}])
        assert scan(made.dump()) == []


def test_places_are_lines_and_bytes(tmp_path: Path) -> None:
    secret = planted(1)["a GitHub token"]
    texts = (secret if n in (3, 90_000) else "x" * 200 for n in range(100_000))
    lines = [json.dumps({"n": n, "t_us": n, "type": "noticed", "text": text}) for n, text in enumerate(texts)]
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("events.ndjson", "\n".join(lines))
        archive.writestr("tasks/p.0/0/main/0.det", b"\0" * 5_000 + secret.encode() + b"\0" * 9)
    found = [(one.member, one.line, one.offset) for one in scan(tmp_path / "a.zip")]
    assert [one[:2] for one in found[:2]] == [("events.ndjson", 4), ("events.ndjson", 90_001)]
    assert found[2:] == [("tasks/p.0/0/main/0.det", None, 5_000)]


def test_values_of_the_environment_are_found_as_they_are(tmp_path: Path) -> None:
    bundle = record_with(tmp_path, "connected as shop, correct horse battery", "answer")
    environment = {"DB_PASSWORD": "correct horse battery", "HOME": "connected as shop", "SHORT_TOKEN": "as"}
    (found,) = scan(bundle, environment)
    assert found.kind == "the value of the variable DB_PASSWORD"


def test_dump_and_scan_tell_where_and_never_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.setenv("CLONOSCOPE_IMAGE", "https://ci:s3cr3tpassw0rd@registry.example.org/shop:7")
    texts = planted(2)
    for number, text in enumerate(texts.values()):
        record_with(tmp_path / str(number), text, "exception")
        assert main(["dump", str(tmp_path / str(number) / "orders"), "--out", str(tmp_path / f"{number}.zip")]) == 3
        assert main(["scan", str(tmp_path / f"{number}.zip")]) == 3
        told = capsys.readouterr()
        assert "job.json, line 1: a password in a URL" in told.err and "main/0.det, byte " in told.err
        assert text not in told.err + told.out and "s3cr3t" not in told.err + told.out


# --- encryption ---


@pytest.fixture
def keys(tmp_path: Path) -> tuple[str, Path]:
    """A public key, and the file of the secret one."""
    pyrage = pytest.importorskip("pyrage")
    identity = pyrage.x25519.Identity.generate()
    (tmp_path / "me.key").write_text(f"# made for a test\n{identity}\n")
    return str(identity.to_public()), tmp_path / "me.key"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    record_with(tmp_path / "recorded", "of-no-interest", "answer")
    return tmp_path / "recorded" / "orders"


def told_of(path: Path) -> list[Any]:
    with open_bundle(path) as bundle:
        assert bundle.check_shape() == []
        return [one for *_, one in bundle.determinants("p.0", 0, "main", 0)]


@pytest.mark.parametrize("name", ["orders.zip.age", "orders.tar.gz", "orders.tar"])
def test_a_bundle_is_encrypted_to_a_public_key(name: str, keys: Any, folder: Path, tmp_path: Path) -> None:
    public, secret = keys
    sealed = tmp_path / f"{name.removesuffix('.age')}.age"
    assert main(["dump", str(folder), "--out", str(tmp_path / name), "--encrypt-to", public]) == 0
    assert b"of-no-interest" not in sealed.read_bytes() and not (tmp_path / name.removesuffix(".age")).exists()
    with pytest.raises(BundleError, match=r"the file is encrypted.*clonoscope decrypt"):
        open_container(sealed)
    assert main(["decrypt", str(sealed), "--identity", str(secret)]) == 0
    assert main(["dump", str(folder), "--out", str(tmp_path / "plain.zip")]) == 0
    assert told_of(tmp_path / name.removesuffix(".age")) == told_of(tmp_path / "plain.zip")


def test_a_bundle_with_a_key_of_its_own_is_gone_with_it(keys: Any, folder: Path, tmp_path: Path, capsys: Any) -> None:
    own, secret = [], keys[1]
    for name in ("a", "b"):
        out = ["--out", str(tmp_path / f"{name}.zip")]
        assert main(["dump", str(folder), *out, "--bundle-key", str(tmp_path / f"{name}.key")]) == 0
        own.append((tmp_path / f"{name}.key").read_text())
        assert (tmp_path / f"{name}.key").stat().st_mode & 0o777 == 0o600
    assert own[0] != own[1]
    sealed = str(tmp_path / "a.zip.age")
    assert main(["decrypt", sealed, "--bundle-key", str(tmp_path / "b.key"), "--out", str(tmp_path / "x.zip")]) == 1
    assert main(["decrypt", sealed, "--identity", str(secret), "--out", str(tmp_path / "x.zip")]) == 1
    assert "where that was deleted, nobody can read it any more" in capsys.readouterr().err
    assert not (tmp_path / "x.zip").exists() and not list(tmp_path.glob(".*.part"))
    assert main(["decrypt", sealed, "--bundle-key", str(tmp_path / "a.key")]) == 0
    assert told_of(tmp_path / "a.zip")


def test_a_bundles_key_may_be_encrypted_to_a_public_key_itself(keys: Any, folder: Path, tmp_path: Path) -> None:
    public, secret = keys
    key, sealed = tmp_path / "own.key", tmp_path / "a.zip.age"
    out = ["--out", str(tmp_path / "a.zip")]
    assert main(["dump", str(folder), *out, "--encrypt-to", public, "--bundle-key", str(key)]) == 0
    assert b"AGE-SECRET" not in key.read_bytes()
    assert main(["decrypt", str(sealed), *out, "--bundle-key", str(key)]) == 1
    assert main(["decrypt", str(sealed), *out, "--identity", str(secret)]) == 1
    assert main(["decrypt", str(sealed), *out, "--identity", str(secret), "--bundle-key", str(key)]) == 0


def test_damage_and_wrong_use_are_told_and_leave_nothing(keys: Any, folder: Path, tmp_path: Path, capsys: Any) -> None:
    public, secret = keys
    assert main(["dump", str(folder), "--out", str(tmp_path / "a.zip"), "--encrypt-to", public]) == 0
    sealed = tmp_path / "a.zip.age"
    whole = sealed.read_bytes()
    for seed in range(20):
        chooser = random.Random(seed)
        data = bytearray(whole)
        if chooser.random() < 0.5:
            data[chooser.randrange(len(data))] ^= 1 << chooser.randrange(8)
        else:
            del data[chooser.randrange(1, len(data)) :]
        sealed.write_bytes(data)
        assert main(["decrypt", str(sealed), "--identity", str(secret), "--out", str(tmp_path / "b.zip")]) == 1, seed
        assert not (tmp_path / "b.zip").exists(), f"seed {seed}"
    (tmp_path / "taken").write_text("")
    for arguments, said in (
        (["--encrypt-to", "age1nobody", "--out", "x.zip"], "is no public key"),
        (["--encrypt-to", public, "--out", str(tmp_path / "folder")], "a folder can't be encrypted"),
        (["--encrypt-to", public, "--out", str(tmp_path / "folder.d")], "a folder can't be encrypted"),
        (["--encrypt-to", public, "--out", str(tmp_path / "a.zip")], "a.zip.age: there is something already"),
        (["--bundle-key", str(tmp_path / "taken"), "--out", str(tmp_path / "c.zip")], "can't be written: File exists"),
    ):
        assert main(["dump", str(folder), *arguments]) in (1, 2)
        assert said in capsys.readouterr().err


def test_nothing_is_written_over_by_what_is_decrypted(keys: Any, folder: Path, tmp_path: Path, capsys: Any) -> None:
    public, secret = keys
    sealed, kept = tmp_path / "a.zip.age", tmp_path / "a.zip"
    assert main(["dump", str(folder), "--out", str(kept), "--encrypt-to", public]) == 0
    kept.write_text("another's")
    assert main(["decrypt", str(sealed), "--identity", str(secret)]) == 1
    assert kept.read_text() == "another's" and "there is something already" in capsys.readouterr().err


def test_without_the_package_it_says_what_to_install(folder: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyrage", None)
    with pytest.raises(ReplayError, match=r"pip install 'clonoscope\[encryption\]'"):
        encryption.encrypt(tmp_path / "a", tmp_path / "b", ["age1"])


def test_what_is_written_in_pieces_is_written_whole() -> None:
    target = io.BytesIO()
    whole = encryption._Whole(target)
    assert whole.write(b"ab") == 2 and whole.write(memoryview(b"c")) == 1 and target.getvalue() == b"abc"
