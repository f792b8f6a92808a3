"""Connecting an account by a link: the links, and what happens on their page."""
