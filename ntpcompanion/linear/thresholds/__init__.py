"""At which dimension random tables become separable: predicted and measured."""
