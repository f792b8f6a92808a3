"""Interfaces that sending needs: transport, secrets, tokens, audit, scripts."""
