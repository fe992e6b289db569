"""Fakes and builders for our tests and for those of plug-ins; nothing here runs in a study."""
