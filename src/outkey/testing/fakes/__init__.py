"""Ports in memory, for the tests of outkey and of hosts."""
