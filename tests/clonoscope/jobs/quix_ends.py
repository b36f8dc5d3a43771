"""A Quix Streams job that comes to a bad end: `python quix_ends.py function|sink BROKER FOLDER`."""

import sys

from quixstreams import Application
from quixstreams.sinks.base import BatchingSink

import clonoscope
from clonoscope.adapters import quix
from tests.clonoscope.jobs.quix_topics import topics_of

FAILS_AT = 12


class Full(BatchingSink):
    """A sink that has no room."""

    def write(self, batch) -> None:
        clonoscope.time()  # no record's doing
        raise OSError("no room")


def main(where: str, broker: str, folder: str) -> None:
    app = Application(
        broker_address=broker,
        consumer_group=where,
        auto_offset_reset="earliest",
        commit_every=FAILS_AT,
        commit_interval=3600,
        state_dir=f"{folder}/state",
        loglevel="CRITICAL",
        topic_manager=topics_of(broker, where),
    )
    app = quix.record("ends", app, dir=folder)
    done = 0

    def process(order: dict) -> dict:
        nonlocal done
        clonoscope.time()
        done += 1
        if where == "function" and done == FAILS_AT:
            raise ValueError(f"no price for {order['item']}")
        return order

    frame = app.dataframe(app.topic("orders")).apply(process)
    if where == "sink":
        frame.sink(Full())
    app._dataframe_registry.register_periodic_task(clonoscope.time)  # no record's doing either
    try:
        app.run()
    except (ValueError, OSError):
        clonoscope.time()
        print('"done"')


if __name__ == "__main__":
    main(*sys.argv[1:])
