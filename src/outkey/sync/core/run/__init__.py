"""A run: its states, schedule, counts, and why it or a record is rejected."""
