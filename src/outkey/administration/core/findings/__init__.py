"""Recommendations, policies, notices and changed rows."""
