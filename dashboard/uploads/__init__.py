"""Uploads, taken by an ASGI endpoint ahead of Django: checked before the first byte, streamed straight to the store."""
