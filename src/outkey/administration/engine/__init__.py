"""Changing, testing and watching what an installation stores.

A secret that a user enters is saved along this way:

    Edit                        the form: what changed, and the permissions it needs
    Administration.save         checks, audit, and all writes in one transaction
    StoredSecrets.set_value     seals it, stores it, opens it again
    StoredSecrets.vouch         seals what was decided about it
    SecretRows.swap             the host's table

What is called `secrets` on the way: `Edit.secrets` are entered values,
`Configuration.secrets` what is known of each without opening it,
`Administration.secrets` the store that seals, `Storage.secrets` the table.
"""
