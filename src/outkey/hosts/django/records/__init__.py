"""A Django project's own records, as a synchronization reads and writes them."""
