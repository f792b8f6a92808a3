"""Changes that users make, each recorded in the audit first."""
