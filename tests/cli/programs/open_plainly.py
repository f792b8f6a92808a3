"""Opens the library, as a script that belongs to no Django project."""

import outkey

outkey.open()
print("opened")
