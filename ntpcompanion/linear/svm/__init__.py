"""The next-token SVM: the separating decoder of least norm, with a certificate."""
