"""What a user does with a system and a method: plan, run, record, audit, resume, many at once."""
