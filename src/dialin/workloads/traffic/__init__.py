"""The traffic of a live server: dialin applies no load, and reads the server once per second."""
