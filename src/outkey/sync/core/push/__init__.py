"""What a push remembers of each record, and what an API said to it."""
