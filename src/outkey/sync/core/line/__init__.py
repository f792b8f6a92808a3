"""A sync line: its settings, its section of a document, its versions and checks."""
