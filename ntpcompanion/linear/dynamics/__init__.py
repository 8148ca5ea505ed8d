"""Where descent leads: steps and flow, their directions, rates and bounds."""
