"""The pages of configurations: list, form, tests, tokens, imports."""
