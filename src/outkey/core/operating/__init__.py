"""What operators see of an installation: counts for metrics, and readiness."""
