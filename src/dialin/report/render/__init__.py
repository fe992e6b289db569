"""The document as terminal text, HTML and Markdown."""
