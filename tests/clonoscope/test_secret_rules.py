"""What looks like a secret and what does not, line by line: command lines, password files, URLs that are signed."""

import base64
import json
import random
import string

import pytest

from clonoscope.secret_rules import secrets_in

_WORD = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def drawn(chooser: random.Random, letters: str, count: int) -> str:
    return "".join(chooser.choices(letters, k=count))


def password(chooser: random.Random) -> str:
    """As people choose them: with a digit or a sign in it, and nothing that a shell or a file would take apart."""
    letters = list(drawn(chooser, string.ascii_letters, chooser.randrange(4, 14)))
    letters.insert(chooser.randrange(1, len(letters)), chooser.choice("0123456789!#+=_."))
    return "".join(letters)


def signed(chooser: random.Random, count: int) -> str:
    written = base64.b64encode(chooser.randbytes(count)).decode()
    return written.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D") if chooser.random() < 0.5 else written


def held(seed: int) -> dict[str, list[str]]:
    """By kind, lines with a secret in each."""
    chooser = random.Random(seed)
    chosen, host = password(chooser), f"{drawn(chooser, string.ascii_lowercase, 6)}.example.org"
    basic = base64.b64encode(f"shop:{chosen}".encode()).decode()
    key, signature = "AKIA" + drawn(chooser, _WORD, 6), drawn(chooser, _HEX, 64)
    return {
        "a password on a command line": [
            f"mysql -p{chosen} shop",
            f"mysql -h {host} -u root -p'{chosen}' shop",
            f"/usr/bin/mysqldump -uroot -p{chosen} --all-databases > shop.sql",
            f'["mysql", "-u", "root", "-p{chosen}"]',
            "mysql -u root -pcorrecthorse shop",
            "mariadb-dump --user=root --password=correcthorse shop",
            f"mariadb --password1={chosen} -e 'select 1'",
            f"curl -u shop:{chosen} https://{host}",
            f"curl -ushop:{chosen} https://{host}",
            f"curl -sSu 'shop:{chosen}' https://{host}",
            f'curl -H "Accept: */*" --user "shop:{chosen}" https://{host}',
            f"curl --proxy-user shop:{chosen} https://{host}",
            f"['curl', '-u', 'shop:{chosen}', 'https://{host}']",
            f"sshpass -p {chosen} ssh {host}",
            f"redis-cli -h {host} -a {chosen} ping",
            f"docker login -u shop -p {chosen} {host}",
        ],
        "a secret, by the name before it": [f"wget --user=shop --password={chosen}7 https://{host}/"],
        "a line of .pgpass": [
            f"{host}:5432:shop:alice:{chosen}",
            f"db:5433:*:alice:{chosen}",
            f"10.0.0.7:6432:shop:alice:{chosen}",
            f"*:*:*:alice:{chosen}",
            f"localhost:*:shop:alice:{chosen}",
            f"/var/run/postgresql:5432:shop:alice:{chosen}",
            f"\\:\\:1:5432:shop:alice:{chosen}",
            f"db:5432:shop:alice:{chosen}\\:{chosen}",
            f"# of the shop\ndb:5432:shop:alice:{chosen}\n",
            f"echo 'db:5432:shop:alice:{chosen}' > ~/.pgpass",
        ],
        "a signature that opens a file": [
            f"https://{host}/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=60&X-Amz-Signature={signature}",
            f"x-amz-signature: {signature}",
            repr({"X-Amz-Signature": signature}),
            f"X-Amz-Security-Token={signed(chooser, 90)}",
            f"X-Goog-Signature={drawn(chooser, _HEX, 512)}",
            f"https://{host}/k?AWSAccessKeyId={key}&Signature={signed(chooser, 20)}&Expires=1141889120",
            f"Signature={signed(chooser, 20)}",
            f"sv=2022-11-02&sr=b&sp=r&sig={signed(chooser, 32)}",
            f"SharedAccessSignature sr={host}&sig={signed(chooser, 32)}&skn=Root",
            f"sig={signed(chooser, 32)}",
        ],
        "credentials in a header": [
            f"Authorization: Basic {basic}",
            f"Proxy-Authorization: Basic {basic}",
            f"-H 'authorization: Basic {basic}'",
            "Authorization: Basic YTpiYw==",
            json.dumps([["Authorization", "Basic YTpiYw=="]]),
        ],
    }


@pytest.mark.parametrize("seed", range(20))
def test_secrets_are_found_by_what_stands_around_them(seed: int) -> None:
    for kind, lines in held(seed).items():
        for line in lines:
            assert kind in {found for _, found in secrets_in(line, {})}, f"seed {seed}: {line!r}"


def harmless(seed: int) -> list[str]:
    """Much like the lines above, and no secret in any."""
    chooser = random.Random(seed)
    word = drawn(chooser, string.ascii_lowercase, 8)
    number, small = chooser.randrange(1_000, 65_536), chooser.randrange(10, 60)
    groups = [f"{chooser.randrange(4096, 65536):x}" for _ in range(8)]
    return [
        f"mysql -u root -p {word}",
        f"mysql -h db -P {number} -P{number} {word}",
        f"mysql -u root -p$MYSQL_PASSWORD --password=${{MYSQL_PASSWORD}} {word}",
        f"mysql -u root -p<password> --password=**** -p%s {word}",
        f"mysql {word} | grep -p{number} && mkdir -p/srv/{number}/{word}; ssh -p{number} db",
        f"mysqlclient=={small}.1.2 mysql-connector {word}",
        f"mysql has no -port option, only -P: {word}",
        f"curl -u {word} https://example.org:{number}/{word}",
        "curl -u $USER:$PASS -u <user>:<password> -u ${NAME}:${KEY} https://example.org",
        f"curl -s --upload-file {word}:{number} https://example.org",
        "sshpass -p $PASS ssh db; redis-cli -a $PASS ping; docker login -u me -p ${TOKEN}",
        f"tool --password-file=/run/{word}{number} --pass {number} --passes={number}.{small}",
        f"12:{small}:45:00:{word}",
        f"{word}.py:{number}:{small}:E501:{word}",
        f"{word}.py:{number}:class:Shop:{word}",
        ":".join(groups),
        ":".join(groups[:5]),
        ":".join(f"{chooser.randrange(256):02x}" for _ in range(6)),
        f"arn:aws:iam::{number}{number}:user/{word} arn:*:s3:{word}:{number}",
        f"cpe:2.3:a:{word}:{word}:{small}.0:*:*:*:*:*:*:*",
        f"{word}:x:{number}:{number}:{word}:/home/{word}:/bin/sh",
        f"127.0.0.1:{number}:{number}:tcp:{word}",
        f"db:5432 refused {word}; db:5432:{word} is gone; postgresql at db:5432:{word}:{word}",
        f"kafka.example.org:9092:{word}:{word}:{number}",
        "hostname:port:database:username:password",
        f"?sig=on&signature=&design={word} Signature={word}",
        f"X-Amz-Date=20260101T000000Z&X-Amz-Expires={number}&X-Amz-SignedHeaders=host",
        f"X-Amz-Algorithm=AWS4-HMAC-SHA256; X-Amz-Signature={word}",
        "Authorization: Basic realm; Basic authentication, Basic Username, Authorization: Basic or Bearer",
    ]


@pytest.mark.parametrize("seed", range(20))
def test_ordinary_lines_hold_no_secrets(seed: int) -> None:
    for line in harmless(seed):
        assert list(secrets_in(line, {})) == [], f"seed {seed}: {line!r}"
