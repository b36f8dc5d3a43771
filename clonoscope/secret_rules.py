"""What a secret looks like: by how it begins, by what stands before it, or by being drawn."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

_ENTROPY_LEAST_BITS = 3.0
_ENTROPY_LONG_BITS = 3.5
_LONG = 20

# Before what is held: a variable, a place to fill in, or stars are no secret.
_SAID = r"(?!\$[{(A-Z_]|[<{*]|%[a-z(])"
# What follows a command's name up to the next command; words may be in quotes, each by itself too.
_ARGUMENTS = r"[\"']?,?\s[^\n|&;]{0,300}?(?<=[\s\"'])"
_CURL = rf"\bcurl{_ARGUMENTS}(?:-[A-Za-z#0]{{0,8}}[uU]|--(?:proxy-)?user\b)(?:[\"']?,?\s|=)?\s{{0,3}}[\"']?"
_MYSQL = r"\b(?:mysql(?:dump|admin|import|check|show|pump|slap|binlog|sh)?|mariadb(?:-[a-z]{3,12})?)"
_ASKED = r"-p[\"']?|--password[1-3]?=[\"']?"
# A name by itself might be another option, where nothing else says whom the command logs in as.
_MYSQL_SURELY = rf"(?={_ARGUMENTS}(?:-[uhPD]|--(?:user|host|port|database|password[1-3]?)\b))"
_SIGNED_64 = r"(?:[0-9A-Za-z+/_-]|%2[BbFf])"
_END_OF_SIGNED = r"(?:=|%3[Dd])"
# A file's line as a whole; a colon in one of its fields stands behind a backslash.
_FIELD = r"(?:\*|[A-Za-z_][\w.$@-]{0,62})"
_PASSWORD_FIELD = rf"{_SAID}(?:[^\s:\"'`\\]|\\+:){{3,200}}(?![\w:])"
_NAMED_HOST = r"(?:localhost|(?:[\w-]{1,63}\.){1,10}[\w-]{1,63})"

# By kind: texts of which one is there wherever the rule matches (in small letters, where it takes any), and the rule.
# What is called `held` is a secret only if it looks drawn.
_RULES: dict[str, tuple[tuple[str, ...], str]] = {
    "an AWS access key": (("AKIA", "ASIA", "AROA", "AIDA"), r"\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b"),
    "a Google API key": (("AIza",), r"\bAIza[0-9A-Za-z_-]{35}"),
    "a Google OAuth token": (
        ("ya29.", "GOCSPX-", "1//0"),
        r"\b(?:ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{30,})",
    ),
    "a GitHub token": (
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?:gh[pousr]_[0-9A-Za-z]{30,}|github_pat_[0-9A-Za-z_]{22,})",
    ),
    "a GitLab token": (("gl",), r"\bgl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas)-[0-9A-Za-z_-]{20,}"),
    "a Slack token": (("xox", "xapp-"), r"\b(?:xox[abeoprs][.-][0-9A-Za-z.-]{10,}|xapp-\d-[0-9A-Za-z-]{20,})"),
    "a Slack webhook": (
        ("hooks.slack.com",),
        r"hooks\.slack\.com/services/T[0-9A-Za-z]+/B[0-9A-Za-z]+/[0-9A-Za-z]{16,}",
    ),
    "a Discord webhook": (("/api/webhooks/",), r"discord(?:app)?\.com/api/webhooks/\d{10,}/[0-9A-Za-z_-]{40,}"),
    "a Stripe key": (
        ("k_live_", "k_test_", "whsec_"),
        r"\b(?:[rs]k_(?:live|test)_[0-9A-Za-z]{16,}|whsec_[0-9A-Za-z]{24,})",
    ),
    "a Telegram token": ((":AA",), r"\b\d{8,10}:AA[0-9A-Za-z_-]{32,35}\b"),
    "a key of a model's maker": (("sk-",), r"\bsk-(?=[A-Za-z_-]{0,40}[0-9])(?P<held>[0-9A-Za-z_-]{20,})"),
    "a token of a registry or a host": (
        ("npm_", "pypi-AgEI", "hf_", "dop_v1_", "dapi", "hvs.", "SG.", "SK", "shp", "xkeysib-"),
        r"\b(?:npm_[0-9A-Za-z]{30,}|pypi-AgEI[0-9A-Za-z_-]{40,}|hf_[0-9A-Za-z]{30,}|dop_v1_[0-9a-f]{40,}"
        r"|dapi[0-9a-f]{32}\b|hvs\.[0-9A-Za-z_-]{24,}|SG\.[0-9A-Za-z_-]{16,32}\.[0-9A-Za-z_-]{16,64}|SK[0-9a-f]{32}\b"
        r"|shp(?:at|ca|pa|ss)_[0-9a-f]{32}|xkeysib-[0-9a-f]{40,})",
    ),
    "a JSON web token": (("eyJ",), r"\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}"),
    "a private key": (
        ("PRIVATE KEY", "AGE-SECRET-KEY-1"),
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\bAGE-SECRET-KEY-1[0-9A-Z]{20,}",
    ),
    "a signature that opens a file": (
        ("ignature=", "sig="),
        rf"(?<![0-9A-Za-z])sig={_SIGNED_64}{{43}}{_END_OF_SIGNED}|\bSignature={_SIGNED_64}{{27}}{_END_OF_SIGNED}",
    ),
    "a password on a command line": (
        ("curl", "mysql", "mariadb", "sshpass", "redis-cli", "docker", "podman"),
        rf"{_CURL}[^\s:\"']{{1,100}}:{_SAID}[^\s\"']{{3,}}"
        rf"|{_MYSQL}{_ARGUMENTS}(?:{_ASKED}){_SAID}(?=[^\s\"']*[^A-Za-z\s\"'-])[^\s\"'-][^\s\"']{{3,}}"
        rf"|{_MYSQL}{_MYSQL_SURELY}{_ARGUMENTS}(?:{_ASKED}){_SAID}[A-Za-z]{{4,}}(?![\w-])"
        rf"|\bsshpass{_ARGUMENTS}-p(?:[\"']?,?\s)?\s{{0,3}}[\"']?{_SAID}[^\s\"'-][^\s\"']{{3,}}"
        rf"|\bredis-cli{_ARGUMENTS}(?:-a|--pass)[\"']?,?\s{{1,3}}[\"']?{_SAID}[^\s\"'-][^\s\"']{{3,}}"
        rf"|\b(?:docker|podman)\slogin{_ARGUMENTS}-p\s{{0,3}}[\"']?{_SAID}[^\s\"'-][^\s\"']{{3,}}",
    ),
    "a line of .pgpass": (
        (":543", ":6432:", ":*:"),
        rf"(?<![^\x00-\x1f\"'`])(?:(?:\*|/[\w./-]{{1,100}}|(?:[\w.-]|\\+:){{1,253}}):(?:543\d|6432)"
        rf"|(?:\*|{_NAMED_HOST}):\*):{_FIELD}:{_FIELD}:{_PASSWORD_FIELD}",
    ),
    "credentials in a header": (
        ("Basic",),
        r"(?i:authorization)[\"'\s]{0,3}[:=,][\"'\s]{0,3}Basic\s+(?=[A-Za-z0-9+/]*[0-9=]|[A-Za-z0-9+/]+[A-Z])"
        r"(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)(?![\w=])",
    ),
}
_RULES_OF_ANY_LETTERS: dict[str, tuple[tuple[str, ...], str]] = {
    "a password in a URL": (
        ("://",),
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>\\]{0,100}:[^\s/\"'<>\\]{3,200}@",
    ),
    "a token in a URL": (("://",), r"\b[a-z][a-z0-9+.-]{1,20}://(?P<held>[^\s/:@\"'<>\\?]{20,200})@"),
    "a password of a database": (("jdbc:oracle",), r"jdbc:oracle:[a-z]+:[^\s/@\"']{1,100}/[^\s@\"']{3,200}@"),
    "a secret in a URL's query": (
        ("token", "secret", "passw", "key", "sig", "auth"),
        r"[?&;](?:[a-z_-]{0,20}(?:token|secret|passw(?:or)?d|apikey|api[_-]key|sig|auth)"
        r"|signature|key)=[^&\s\"'<>\\]{6,}",
    ),
    "credentials in a header": (
        ("bearer", "basic", "authorization"),
        r"\b(?:Bearer|Basic)\s+[0-9A-Za-z+/=._~-]{16,}"
        r"|\bauthorization[\"'\s]{0,3}[:=,][\"'\s]{0,3}(?:[a-z0-9-]{3,20}\s+)?[0-9a-z+/=._~:-]{10,}",
    ),
    "a password on a command line": (("login",), r"\blogin\s+\S{1,100}\s+password\s+\S{3,}"),
    "a signature that opens a file": (
        ("x-amz-", "x-goog-"),
        r"\bx-(?:amz|goog)-(?:signature|security-token)[\"'\s]{0,3}[=:,][\"'\s]{0,3}[0-9a-z+/%_-]{40,}",
    ),
}  # fmt: skip
_COMPILED = [(kind, needed, re.compile(rule, re.ASCII), False) for kind, (needed, rule) in _RULES.items()] + [
    (kind, needed, re.compile(rule, re.ASCII | re.IGNORECASE), True)
    for kind, (needed, rule) in _RULES_OF_ANY_LETTERS.items()
]

# In small letters, as taking any letters takes far longer.
_NAME = re.compile(
    r"passw(?:or)?d|passwort|kennwort|passphrase|(?<![a-z])pwd|(?<![a-z])(?:db_?)?pass(?![a-z])|secret|token|credential"
    r"|(?:account|access|api|encryption|license|master|private|shared|signing)[_.-]?key|set-cookie|(?<![a-z])cookie",
    re.ASCII,
)
_QUOTE = r"(?:[bru]{0,2}(?P<quote>[\"'`])|&quot;|&#3[49];|&apos;)?"
_HELD = re.compile(
    r"[\w.-]{0,20}(?:[\"'`\]\s]{0,3}(?:=>|[:=])\s{0,3}|[\"'`]\s?,\s?(?=[\"'`])|>(?=[^\s<]))"
    + _QUOTE
    + r"(?P<held>[^\s\"'`,;{}\[\]()<>\\]{4,200})",
    re.ASCII,
)
_WORDS = re.compile(
    r"[\w.-]{0,20}[\"']?\s{0,3}[:=]\s{0,3}(?P<quote>[\"'])(?P<held>[^\"'\\\n]{8,64})(?P=quote)", re.ASCII
)
_OPTION = re.compile(r"[\w-]{0,20}(?<!file)(?<!path)(?<!env)[ =](?P<held>[^\s\"'-][^\s\"']{5,200})", re.ASCII)
# As a container's variables are written down.
_PAIR = re.compile(
    r"[\w.-]{0,40}[\"']\s?,\s?[\"']value[\"']\s?:\s?(?P<quote>[\"'])(?P<held>[^\"'\\]{6,200})", re.ASCII | re.IGNORECASE
)
_PLAIN = re.compile(r"[A-Za-z_.$]+")
_NOTHING = ("null", "none", "true", "false", "undefined", "redacted")
NAMED = "a secret, by the name before it"
_SHORTEST, _SHORT = 8, 6


def secrets_in(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Places and kinds. `known`: by kind, values that must not be there as they are."""
    small = text.lower()
    for kind, needed, rule, any_letters in _COMPILED:
        seen = small if any_letters else text
        if any(one in seen for one in needed):
            for match in rule.finditer(text):
                if "held" not in rule.groupindex or _is_drawn(match["held"]):
                    yield match.start(), kind
    # Few letters are longer when they are small: then places are not the same.
    yield from _named(text, small if len(small) == len(text) else text)
    for kind, value in known.items():
        at = text.find(value)
        while at >= 0:
            yield at, kind
            at = text.find(value, at + 1)


def _named(text: str, small: str) -> Iterator[tuple[int, str]]:
    for match in _NAME.finditer(small):
        at, end = match.span()
        of_people = "pass" in match[0] or match[0] in ("kennwort", "pwd")
        looks = [_HELD, _PAIR, *([_WORDS] if of_people else [])]
        if text.startswith("--", max(at - 2, 0)) or "--" in text[max(at - 12, 0) : at]:
            looks.append(_OPTION)
        for pattern in looks:
            found = pattern.match(text, end)
            option = pattern is _OPTION
            if found and _is_secret(
                found["held"], not option and _quoted(found), of_people, _SHORT if option else _SHORTEST
            ):
                yield at, NAMED
                break


def _quoted(found: re.Match[str]) -> bool:
    return bool(found["quote"]) or found.string[found.start("held") - 1] in ";>"


def _is_secret(held: str, quoted: bool, people: bool, shortest: int) -> bool:
    """Whether a value looks as if somebody had drawn it, or, of a password, chosen it."""
    if held.lower().startswith(_NOTHING) or held.startswith(("/", "${", "$(", "<")) or len(set(held)) < 4:
        return False
    if held.isdigit() and not quoted:
        return False  # a count of them
    plain = _PLAIN.fullmatch(held) is not None
    if people and ((quoted and (len(held) >= shortest or not plain)) or (len(held) >= shortest and not plain)):
        return True
    return len(held) >= _SHORTEST and _is_drawn(held)


def _is_drawn(held: str) -> bool:
    bits = _entropy_bits(held)
    drawn = any(map(str.isdigit, held)) or (len(held) >= _LONG and bits >= _ENTROPY_LONG_BITS)
    return drawn and bits >= _ENTROPY_LEAST_BITS


def _entropy_bits(text: str) -> float:
    """Of a letter."""
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)
