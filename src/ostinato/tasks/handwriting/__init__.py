"""Tasks on pen strokes: single characters, and strings without a segmentation."""
