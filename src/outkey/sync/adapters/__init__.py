"""Tables, files, schedules and the scripts of lines."""
