"""One execution of a task in virtual time: its threads, its logs, and what carries out its recovery."""
