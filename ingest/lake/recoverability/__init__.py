"""Recoverability of stored jobs: the tables `holders` and `frontiers`, swept place by place in compiled code."""
