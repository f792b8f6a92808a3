"""What every feature needs: texts, errors, secrets, times, fields, TOML, the database."""
