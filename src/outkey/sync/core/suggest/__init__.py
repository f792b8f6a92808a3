"""What a line can be completed with, from a sample of an API's response."""
