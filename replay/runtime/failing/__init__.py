"""Failures of a run: how they are made, noticed and answered, where tasks go, and what is given up."""
