"""Pictures of every op on photographs."""
