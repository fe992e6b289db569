"""From a question to a verdict: the plan, the trial's life, the blocks, and resuming."""
