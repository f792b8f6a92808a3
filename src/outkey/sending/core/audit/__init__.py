"""Records of the audit, and the chain that makes records tamper-evident."""
