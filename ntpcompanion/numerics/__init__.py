"""What any computation here may need: memory, threads, progress, series, descent directions."""
