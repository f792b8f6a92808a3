"""Records between APIs and targets: lines, runs, mappings, pairs, tables, files."""
