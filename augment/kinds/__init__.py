"""The kinds of ops."""
