"""The pages of webhooks: list, form, inbox."""
