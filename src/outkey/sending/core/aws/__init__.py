"""AWS: signatures, the sessions of roles (STS), and the error codes of its services."""
