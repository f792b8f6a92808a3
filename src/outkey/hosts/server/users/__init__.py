"""Accounts, passwords, sessions and personal data of users."""
