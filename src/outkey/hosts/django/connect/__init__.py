"""The connect page: who has a link connects an account, without a user here."""
