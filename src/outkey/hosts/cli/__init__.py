"""The command `outkey`."""
