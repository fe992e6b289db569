"""Files that hold a server's settings in another form than an option file: a reader for each, found by the content."""
