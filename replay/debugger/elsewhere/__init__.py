"""Steps of a replay that was made elsewhere, as a file: a `.zip` with a line of JSON for every row."""
