"""What the notebooks of this book compute with."""
