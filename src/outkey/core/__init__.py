"""Pure rules: no clock, socket, database, environment, logging or third-party import."""
