"""Figures of studies: laid out once as plain shapes, written as SVG or drawn by Matplotlib."""
