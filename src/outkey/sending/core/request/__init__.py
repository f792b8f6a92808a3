"""What travels: URLs, headers, bodies, and the schemes that authenticate a request."""
