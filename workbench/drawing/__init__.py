"""A graph drawn with box characters: layers, order, columns, tracks, and a bit mask a cell. For `owb graph` and the TUI alike."""
