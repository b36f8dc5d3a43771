"""What things cost in virtual time: parameters, so that recovery time, latency and overhead can be read off."""

from __future__ import annotations

from dataclasses import dataclass

HEARTBEAT_BYTES = 64
"""What a heartbeat, a question or an answer without logs weighs on the wire."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Means, around which the scheduler draws. Times are microseconds (`_us`), rates bytes per second.

    Processing: `record_us` per record, `take_us` per buffer taken, `cut_us` per buffer cut, `flush_us` until a buffer
    that is not full is cut all the same, `batch_records` at most that many at once. `append_us` per determinant that
    the task logs; by default that is part of what a record costs.

    Network: `rtt_us` there and back, `bandwidth_bytes_per_s` of a channel, `rpc_us` for a call between coordinator and
    task, `connect_us` to connect a channel anew, `loss_notice_us` until the other end of a broken connection notices,
    `credits` buffers that a receiver has room for.

    Detection: a heartbeat every `heartbeat_us`; a task is taken for failed `heartbeat_timeout_us` after its last one
    came. For `detection_window_us` after a detection further signals for the same task are not listened to.

    Hosts: `deploy_us` to schedule a task anew (or a standby), `cancel_us` to end one that runs,
    `host_restart_us` until a host that failed is there again, empty.

    Checkpoints: `snapshot_us` to begin an upload and `upload_bytes_per_s` for it; `restore_us` to begin a restore and
    `download_bytes_per_s` for it, or `local_bytes_per_s` from a copy on the same host. `state_bytes` is what each
    task's state is declared to weigh besides what it really holds: it costs time and is nowhere stored.

    Disks: `disk_bytes_per_s`, and `disk_seek_us` for what is not written or read in one go.

    `timer_late_us`: how late a timer fires. `metric_us`: how often tasks tell of throughput and latency.
    """

    record_us: int = 40
    take_us: int = 10
    cut_us: int = 15
    flush_us: int = 20_000
    rtt_us: int = 500
    bandwidth_bytes_per_s: int = 1 << 30
    rpc_us: int = 500
    connect_us: int = 2_000
    loss_notice_us: int = 1_500
    heartbeat_us: int = 100_000
    heartbeat_timeout_us: int = 500_000
    detection_window_us: int = 10_000
    snapshot_us: int = 4_000
    upload_bytes_per_s: int = 200 << 20
    restore_us: int = 20_000
    download_bytes_per_s: int = 200 << 20
    local_bytes_per_s: int = 1 << 30
    state_bytes: int = 0
    cancel_us: int = 50_000
    deploy_us: int = 250_000
    host_restart_us: int = 2_000_000
    metric_us: int = 1_000_000
    timer_late_us: int = 200
    disk_bytes_per_s: int = 500 << 20
    disk_seek_us: int = 100
    credits: int = 8
    batch_records: int = 32
    storage_latency_us: int = 1_000
    storage_bytes_per_s: int = 100 << 20
    log_interval_us: int = 50_000
    flush_write_us: int = 20
    append_us: float = 0

    def upload_us(self, size: int) -> float:
        """How long so many bytes of a snapshot take until they are safe."""
        return self.snapshot_us + size * 1e6 / self.upload_bytes_per_s

    def download_us(self, size: int, *, local: bool = False) -> float:
        """How long it takes to load them, from afar or from a copy on the host itself."""
        return self.restore_us + size * 1e6 / (self.local_bytes_per_s if local else self.download_bytes_per_s)

    def disk_us(self, size: int, *, seeks: bool) -> float:
        """How long a task's disk takes to write or read that many bytes."""
        return (self.disk_seek_us if seeks else 0) + size * 1e6 / self.disk_bytes_per_s

    def storage_us(self, size: int) -> float:
        """How long a write of that many bytes to the stable storage takes, or a read."""
        return self.storage_latency_us + size * 1e6 / self.storage_bytes_per_s

    def wire_us(self, size: int) -> float:
        """How long that many bytes are under way, one way."""
        return self.rtt_us / 2 + size * 1e6 / self.bandwidth_bytes_per_s

    def rate_per_s(self, load: float) -> float:
        """How many records a second load a task to that share of what it can take."""
        return load * 1e6 / self.record_us
