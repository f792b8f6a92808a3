"""I/O of sending: transports, stores of secrets and tokens, audit, scripts."""
