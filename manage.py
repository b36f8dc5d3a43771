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


if __name__ == "__main__":
    main()
