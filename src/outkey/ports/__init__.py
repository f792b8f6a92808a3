"""All interfaces to the outside as Protocols; each has a fake and a contract suite."""
