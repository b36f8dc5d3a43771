"""What is outside of a job: partitions to read, services to call, and the world that takes its outputs."""
