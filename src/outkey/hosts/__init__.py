"""Programs that embed outkey; only here do adapters meet the engine."""
