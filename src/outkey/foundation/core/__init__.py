"""Values and rules of all features, without input or output."""
