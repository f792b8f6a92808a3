"""The records of the audit in words, as activity shows them."""
