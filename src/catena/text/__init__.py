"""Text input and output: files of users, control characters, tables."""
