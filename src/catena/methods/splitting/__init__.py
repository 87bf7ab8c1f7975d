"""Splittings, partitioned methods and their compositions."""
