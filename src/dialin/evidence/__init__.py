"""Explains a verdict and names its limits: turns figures from the store into findings, reasons and notes."""
