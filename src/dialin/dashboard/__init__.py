"""The live page of a running study; reads the store only."""
