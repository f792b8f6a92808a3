"""How requests, secrets, tokens and records of the audit reach the outside."""
