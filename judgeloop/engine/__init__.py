"""One run: the session (pure), and the drivers that answer its questions."""
