"""Records to try synchronization with, where no application has its own."""
