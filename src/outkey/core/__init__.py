"""Pure rules: no clock, socket, database, environment, log or third-party import."""
