"""One request on the wire: the driver loop, egress rules, transmission, clock offsets."""
