"""The HTTP server of the pages, and what each request passes through."""
