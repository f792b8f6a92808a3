"""Deliveries of other systems: verified, stored once, processed and watched.

Where to begin, below `outkey.webhooks`; nothing is loaded here:

- `core.settings.settings.Webhook`: a webhook and its settings
- `core.settings.stored.StoredWebhook`: a webhook as stored, its secrets sealed
- `core.schemes.schemes.SCHEMES`: how each sender signs, as a table
- `core.inbox.inbox.InboxDelivery`: a stored delivery and its state
- `engine.reception.Reception`: receives a delivery: verifies it and stores it
- `engine.processing.WebhookWork`: processes stored deliveries
- `engine.changes.WebhookAdministration`: what users do with webhooks
- `ports.webhooks.DeliveryRows`: the rows that a host stores deliveries in
"""
