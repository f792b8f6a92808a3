"""Deliveries of other systems: verified, stored once, processed and watched."""
