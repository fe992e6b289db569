"""Reports on a study's record, for people and scripts: terminal, HTML, Markdown, JSON, option file. No statistics here."""
