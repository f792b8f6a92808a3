"""Recommendations, notices and changed rows."""
