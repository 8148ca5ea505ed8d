"""What pages read from several recorded runs together: estimates, and tables with named columns."""
