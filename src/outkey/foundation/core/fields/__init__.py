"""Fields of settings: their kinds, choices and how a value is read."""
