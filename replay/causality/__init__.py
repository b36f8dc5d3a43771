"""Who held which bytes of whose logs, from when on, and who depended on what: derived from a recording's buffers."""
