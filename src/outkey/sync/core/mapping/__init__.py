"""Records and rows: how values are mapped, transformed, compared and stored."""
