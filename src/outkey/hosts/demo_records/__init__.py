"""Records to try synchronization with, only where the demo is asked for."""
