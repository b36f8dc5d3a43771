"""Adapters make a stream engine's own steps into tasks, epochs and attempts; engines are imported lazily."""
