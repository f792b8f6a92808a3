"""The pages of sync lines: list, form, runs, pairs, and the tables they fill."""
