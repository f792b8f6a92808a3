"""Requests with credentials: configurations, secrets, tokens, audit, diagnosis.

Where to begin, below `outkey.sending`; nothing is loaded here:

- `engine.gateway.Gateway`: sends by the name of a configuration
- `engine.exchange.sender.Sender`: sends for a gateway, a line, a test and a webhook
- `engine.connection_test.ConnectionTest`: tests a configuration step by step
- `core.configuration.configuration.Configuration`: an API Sync Configuration
- `core.configuration.fields.BY_PATH`: its fields, by their names in a document
- `core.request.message.Response`: a response, with its cause if it failed
- `core.audit.events.Tag`: what an audit record is about
- `core.diagnosis.evidence.Suspicion`: a probable cause, with evidence and a fix
- `ports.sending.Audit`: records what is about to be done
- `ports.storage.ConfigurationRows`: the rows that a host stores configurations in
"""
