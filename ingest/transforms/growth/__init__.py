"""Who held and who depended on how much of each log, from the lake's own tables: by the array, never by the buffer."""
