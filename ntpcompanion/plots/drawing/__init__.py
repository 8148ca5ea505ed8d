"""What every figure shares: style, lines, labels, tables, narrow screens."""
