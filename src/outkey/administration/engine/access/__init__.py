"""Who may do what: API tokens, sign-ins, the HTTP interface."""
