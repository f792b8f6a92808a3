"""What meets the world, named port_technology. Adapters never see the engine."""
