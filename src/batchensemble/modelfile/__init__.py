"""A model as one file of numbers and text, without pickle."""
