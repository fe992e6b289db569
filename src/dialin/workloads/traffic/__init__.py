"""The traffic of a live server: nobody applies it; the server is read once per second."""
