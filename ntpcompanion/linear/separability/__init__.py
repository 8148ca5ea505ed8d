"""Can a decoder match the log-odds within the supports and beat all other tokens? With proof."""
