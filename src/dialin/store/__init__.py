"""The study's database; nothing else opens it."""
