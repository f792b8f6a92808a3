"""What every feature needs: texts, errors, secrets, fields, TOML, the database."""
