"""Text that comes in and goes out: files of users, control characters, tables."""
