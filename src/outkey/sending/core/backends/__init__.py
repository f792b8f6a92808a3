"""External stores of secrets: the requests that they need, and their responses."""
