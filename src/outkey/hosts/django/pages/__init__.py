"""The web pages: each view asks who may, calls one use case and renders what came of it."""
