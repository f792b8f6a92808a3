"""What sending needs from outside."""
