"""A folder that `clonoscope coverage` puts before all others on the path of the Pythons that it starts."""
