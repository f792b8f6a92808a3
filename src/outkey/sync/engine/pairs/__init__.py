"""Both directions of a pair: matches, decisions, changes."""
