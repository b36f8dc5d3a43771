"""`--data DIR`, which every command takes: it must be known before any setting is read."""

from __future__ import annotations

import os
from collections.abc import MutableMapping, Sequence

from dashboard.environment import SettingError


def choose_data_folder(arguments: Sequence[str], environment: MutableMapping[str, str] = os.environ) -> None:
    """Puts the folder of `--data DIR` or `--data=DIR` where the settings look for it.

    An empty one is refused: a variable that was never set must not lead to the default folder, or to the current one.
    """
    for option, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if option == "--":
            return
        name, _, joined = option.partition("=")
        if name == "--data":
            chosen = joined if "=" in option else value
            if not chosen:
                raise SettingError("--data names no folder. Say which one, as --data DIR.")
            environment["CLONOSCOPE_DATA"] = os.path.abspath(chosen)
