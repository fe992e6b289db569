"""A study's record, told to people and scripts: terminal, HTML, Markdown, JSON, option file. No statistics here."""
