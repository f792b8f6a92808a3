"""Other databases of tables: their section of a document, and safe URLs."""
