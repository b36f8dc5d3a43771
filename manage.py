#!/usr/bin/env python
"""Runs Clonoscope's commands: ``python manage.py <command>``."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    from dashboard.command_line import choose_data_folder
    from dashboard.environment import SettingError

    try:
        choose_data_folder(sys.argv)
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except SettingError as wrong:
        sys.exit(str(wrong))
    except ImportError as unloaded:
        # What the loader says of a library for which the address space has no place.
        if "failed to map segment" not in str(unloaded):
            raise
        sys.exit(f"A library found no room in memory ({unloaded}). Give the process more (ulimit -v), then try again.")


if __name__ == "__main__":
    main()
