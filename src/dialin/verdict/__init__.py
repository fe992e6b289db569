"""Reaches the verdict on a study from its trials: codes, figures and warnings."""
