"""How long the server keeps connections on which nothing is asked."""

from __future__ import annotations

import httpx

from dashboard.serving import Server

PROXIES_S = 60


def test_clients_and_proxies_let_go_of_a_connection_first() -> None:
    kept_s = Server(on_ready=lambda: None).config.timeout_keep_alive
    assert kept_s > max(PROXIES_S, httpx.Limits().keepalive_expiry or 0)
