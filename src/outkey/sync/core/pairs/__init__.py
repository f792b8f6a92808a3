"""Two lines that synchronize both directions: rules, agreements, journal."""
