"""`--data DIR`, which every command takes: it must be known before any setting is read."""

from __future__ import annotations

import os
from collections.abc import MutableMapping, Sequence


def choose_data_folder(arguments: Sequence[str], environment: MutableMapping[str, str] = os.environ) -> None:
    """Puts the folder of `--data DIR` or `--data=DIR` where the settings look for it."""
    for option, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if option == "--":
            return
        if option == "--data" and value:
            environment["CLONOSCOPE_DATA"] = os.path.abspath(value)
        elif option.startswith("--data="):
            environment["CLONOSCOPE_DATA"] = os.path.abspath(option.removeprefix("--data="))
