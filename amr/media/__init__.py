"""Files to clips: probing, cutting, frames, audio, captions."""
