"""Everything that is checked before a study starts: builds, values, memory, disk, and how candidates are switched."""
