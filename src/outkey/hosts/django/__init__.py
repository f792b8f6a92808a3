"""The reusable Django app "API Sync": `INSTALLED_APPS += ["outkey.hosts.django"]`."""
