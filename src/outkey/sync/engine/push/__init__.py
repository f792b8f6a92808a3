"""From the host to the API, record by record."""
