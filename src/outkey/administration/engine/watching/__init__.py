"""Activity, charts, monitoring and the doctor: events that need attention."""
