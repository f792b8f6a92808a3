"""Rows of a table: found, checked, written and numbered."""
