"""Work as rows: queueing, claiming, leases, sweeping, and supervising the children that do it."""
