"""One file per channel: link on write, walk on read."""
