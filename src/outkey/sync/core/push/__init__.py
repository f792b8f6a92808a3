"""The ledger of a push: what was sent of each record, and the response."""
