"""What `SPARK_MASTER` may say, and what is understood of it."""

import socket

import pytest

from ingest.masters import address_towards, is_cluster, is_known, places_of, silent


@pytest.mark.parametrize(
    ("master", "places"),
    [
        ("local", []),
        ("local[4]", []),
        ("local[*]", []),
        ("yarn", []),
        ("spark://head:7077", [("head", 7077)]),
        ("spark://a:7077,b:7078", [("a", 7077), ("b", 7078)]),
        ("k8s://https://api.example.org:6443", [("api.example.org", 6443)]),
        ("k8s://https://api.example.org", [("api.example.org", 443)]),
        ("k8s://api.example.org", [("api.example.org", 443)]),
        ("k8s://http://127.0.0.1:8001", [("127.0.0.1", 8001)]),
    ],
)
def test_a_master_is_understood(master: str, places: list[tuple[str, int]]):
    assert is_known(master) and places_of(master) == places
    assert is_cluster(master) is not master.startswith("local")


@pytest.mark.parametrize(
    "master", ["spark:head", "spark://head", "spark://head:x", "mesos://head:1", "LOCAL", "k8s://"]
)
def test_what_is_no_master_is_refused(master: str):
    assert not is_known(master)


def test_a_driver_listens_where_it_reaches_its_master():
    assert address_towards("spark://127.0.0.1:7077") == "127.0.0.1"
    assert address_towards("yarn") is None and address_towards("local[2]") is None


def test_one_master_that_answers_is_enough():
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_server(("127.0.0.1", 0)) as closed:
        port, silent_port = listening.getsockname()[1], closed.getsockname()[1]
        closed.close()
        assert "does not answer" in silent(f"spark://127.0.0.1:{silent_port}")
        assert silent(f"spark://127.0.0.1:{silent_port},127.0.0.1:{port}") == ""
    assert silent("yarn") == silent("local[*]") == ""
