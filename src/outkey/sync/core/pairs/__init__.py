"""Two lines that keep both sides the same: rules, agreements, journal."""
