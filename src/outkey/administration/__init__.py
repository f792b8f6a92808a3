"""What users do: documents, edits, rights, findings, activity, operation."""
