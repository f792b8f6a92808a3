"""Connections: ids, variables and their sources, and the origins that they may name."""
