"""Everything that users do: documents, edits, rights, findings, activity, operation."""
