"""Readers of manifests: descriptions of pulls that other programs run."""
