"""Configurations and lines from cURL, Postman, OpenAPI and others.

Where to begin, below `outkey.importing`; nothing is loaded here:

- `core.reading.read_import`: reads a command, a collection or a description
- `core.reading.Import`: what was read: configurations, lines, and a report
- `core.report.ReportItem`: one line of the report
"""
