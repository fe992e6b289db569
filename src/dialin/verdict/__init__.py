"""From trials to the verdict: codes, figures and warnings."""
