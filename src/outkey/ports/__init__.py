"""Every edge of the world as Protocols, by reader; each has a fake and a contract suite."""
