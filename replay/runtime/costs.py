"""What things cost in virtual time: parameters, so that recovery time, latency and overhead can be read off."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """Means; the scheduler draws around them."""

    record_us: int = 40
    take_us: int = 10
    cut_us: int = 15
    flush_us: int = 20_000
    rtt_us: int = 500
    bandwidth_bytes_per_s: int = 1 << 30
    rpc_us: int = 500
    connect_us: int = 2_000
    loss_notice_us: int = 1_500
    heartbeat_timeout_us: int = 500_000
    snapshot_us: int = 4_000
    upload_bytes_per_s: int = 200 << 20
    restore_us: int = 20_000
    download_bytes_per_s: int = 200 << 20
    cancel_us: int = 50_000
    deploy_us: int = 250_000
    metric_us: int = 1_000_000
    timer_late_us: int = 200
    disk_bytes_per_s: int = 500 << 20
    disk_seek_us: int = 100
    credits: int = 8
    batch_records: int = 32
    flush_write_us: int = 20

    def upload_us(self, size: int) -> float:
        """How long a snapshot of that many bytes takes until it is safe."""
        return self.snapshot_us + size * 1e6 / self.upload_bytes_per_s

    def download_us(self, size: int) -> float:
        """How long it takes to load it."""
        return self.restore_us + size * 1e6 / self.download_bytes_per_s

    def disk_us(self, size: int, *, seeks: bool) -> float:
        """How long a task's disk takes to write or read that many bytes."""
        return (self.disk_seek_us if seeks else 0) + size * 1e6 / self.disk_bytes_per_s

    def wire_us(self, size: int) -> float:
        """How long that many bytes are under way, one way."""
        return self.rtt_us / 2 + size * 1e6 / self.bandwidth_bytes_per_s
