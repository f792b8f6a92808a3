"""The table of fields, one module for a tab or a few small ones."""
