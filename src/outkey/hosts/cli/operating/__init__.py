"""The commands of operators: serve, back up, examine, keys, accounts."""
