"""The border between a user's tables and series, and tensors: estimators."""
