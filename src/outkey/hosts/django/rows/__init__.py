"""The tables of outkey in Django's database."""
