"""What requests took and cost, and who is told of it."""
