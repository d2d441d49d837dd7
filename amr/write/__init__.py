"""ClipAnalysis to nodes and edges."""
