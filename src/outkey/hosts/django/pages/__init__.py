"""The web pages: a view checks permissions, calls one use case and draws the result."""
