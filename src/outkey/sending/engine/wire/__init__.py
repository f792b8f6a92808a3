"""One request on the wire: driver loop, egress rules, transmission, clock offsets."""
