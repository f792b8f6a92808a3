"""Reading what others write of an API: commands, collections, descriptions."""
