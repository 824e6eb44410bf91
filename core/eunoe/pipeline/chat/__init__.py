"""Messages and chats as they are known: read once, counted once, appended."""
