"""How commands print: tables, reports, JSON, times."""
