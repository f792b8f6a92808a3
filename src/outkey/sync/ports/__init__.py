"""What synchronizing needs of a host."""
