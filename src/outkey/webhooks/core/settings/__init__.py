"""A webhook: its settings, secrets, permissions and checks."""
