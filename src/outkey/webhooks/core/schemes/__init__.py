"""How senders sign, as a table, with their handshakes and instructions."""
