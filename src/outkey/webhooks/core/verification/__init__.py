"""Whether a delivery is the sender's, and why not."""
