"""Everything that users do: documents, edits, rights, findings, activity, operation.

Where to begin, below `outkey.administration`; nothing is loaded here:

- `engine.application.Application`: everything that pages and commands work with
- `engine.editing.administration.Administration`: what one user changes
- `engine.editing.editing.Edit`: a form of a configuration, read and saved
- `core.document.document.Document`: a TOML document of all features
- `core.policy.policy.Policy`: what the operator of an installation demands
- `core.access.api_tokens.Scope`: what a token of the HTTP interface may do
- `ports.installation.Keys`: the keys of an installation
"""
