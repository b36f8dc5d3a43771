"""The rules that hold the house together, as functions of source texts: each can be shown to catch something."""
