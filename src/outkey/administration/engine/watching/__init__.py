"""What happened and what needs attention."""
