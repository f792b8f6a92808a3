"""What every feature needs of a host: a clock, a database, expressions."""
