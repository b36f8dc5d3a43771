"""Ids that a person can read out and nobody can guess: a letter and 12 of [0-9a-z]."""

import secrets
import string

ALPHABET = string.digits + string.ascii_lowercase


def new_id(prefix: str) -> str:
    return f"{prefix}_" + "".join(secrets.choice(ALPHABET) for _ in range(12))
