"""Shared by all features: texts, errors, secrets, fields, TOML, the database.

Where to begin, below `outkey.foundation`; nothing is loaded here:

- `core.text.Text`: a text for users, as a template and its values
- `core.text.NO_TEXT`: the text that says nothing
- `core.errors.OutkeyError`: the root of all errors; each names what to do next
- `core.errors.ConfigError`: the error of settings that cannot work
- `core.errors.UnknownConfiguration`: the error of a name that is not stored
- `core.errors.Cause`: why a request failed, by a name that is the same everywhere
- `core.errors.SecretUnreadable`: the error of what was changed outside of outkey
- `core.errors.StorageUnavailable`: the error of a database that does not respond
- `core.origin.Origin`: scheme, host and port that a request goes to
- `core.secret.Secret`: a value that is masked wherever it is printed
- `core.permission.Permission`: what a user may do
- `core.shared_state.StateKind`: the kinds of rows that all processes share
- `core.shared_state.SharedState`: such a row, with its generation
- `core.stored_values.is_odd`: whether a stored value could not be read
- `core.groups.groups_of`: many items in groups, as one statement can hold
- `core.fields.field_kinds.Field`: a setting: its name, its kind and when it applies
- `core.fields.field_kinds.Kind`: what a field takes
- `core.findings.checks.Finding`: a problem of settings, with a hint and a stable id
- `core.findings.checks.Level`: how severe a finding is
- `ports.clock.Clock`: the time
- `ports.database.Database`: transactions of the host's database
- `ports.database.StateRows`: the rows that all processes share
"""
