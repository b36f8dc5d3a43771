"""Real services for tests of production mode: a throw-away PostgreSQL cluster and a Redis, each on a free port."""
