"""Django's PostgreSQL with deadlines of the client, as an `ENGINE` of `DATABASES`."""
