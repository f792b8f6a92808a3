"""The parts of an application, each about one subject: webhooks, lines, runs."""
