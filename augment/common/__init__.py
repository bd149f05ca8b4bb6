"""What every layer uses."""
