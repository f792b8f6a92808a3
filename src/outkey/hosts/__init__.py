"""Who embeds outkey; the only rooms where adapters meet the engine."""
