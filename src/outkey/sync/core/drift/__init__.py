"""The shape of records: what a pull has recorded, and how later pages differ."""
