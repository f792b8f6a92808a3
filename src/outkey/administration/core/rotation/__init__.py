"""What users and programs read of rotations."""
