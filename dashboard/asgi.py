"""The ASGI entry: uploads ahead of Django, sockets through Channels, everything else Django."""
