"""What is wrong or risky, as data: checks, posture, health and monitoring."""
