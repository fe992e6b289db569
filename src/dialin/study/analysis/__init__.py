"""A verdict from the logs of runs made elsewhere: read, sorted by candidate, put in figures, judged, put in words."""
