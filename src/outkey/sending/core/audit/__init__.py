"""What is recorded, and the chain that makes records tamper-evident."""
