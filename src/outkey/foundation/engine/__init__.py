"""Work that is done in turns, and duties that one process does for all."""
