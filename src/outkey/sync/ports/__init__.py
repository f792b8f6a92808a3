"""Interfaces that synchronizing needs: records, runs, lines, ledgers, pairs."""
