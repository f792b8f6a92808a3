"""From the API into the host, page by page."""
