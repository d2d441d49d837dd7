"""Clip to ClipAnalysis."""
