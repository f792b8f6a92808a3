"""The form of a line: inputs, a sample, trials and repairs of its rows."""
