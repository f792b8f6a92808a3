"""Lines that are not saved yet: errors, samples and previews."""
