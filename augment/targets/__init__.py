"""What travels with an image."""
