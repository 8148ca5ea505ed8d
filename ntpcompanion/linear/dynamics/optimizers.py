"""Steps of gradient descent, normalized gradient descent and Adam: from a gradient, which may be
overwritten, to what is subtracted from the parameters.
"""

import numpy as np


def plain(gradient: np.ndarray, rate: float) -> np.ndarray:
    """Of gradient descent: the gradient times the rate. In place."""
    return np.multiply(gradient, rate, out=gradient)


def normalized(gradient: np.ndarray, rate: float) -> np.ndarray:
    """Of normalized gradient descent: of length `rate`, or zero for a zero gradient. In place."""
    largest = np.abs(gradient).max()
    if largest > 0:
        gradient /= largest  # squares of 1e-170 would underflow
        gradient *= rate / np.linalg.norm(gradient)
    return gradient


class Adam:
    """Of Adam (Kingma and Ba 2015), with bias corrections, as `torch.optim.Adam`; it keeps the two
    means, and its answer holds until the next call.
    """

    def __init__(self, shape: tuple[int, int], beta1: float, beta2: float, epsilon: float) -> None:
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.mean, self.square, self.buffer = np.zeros(shape), np.zeros(shape), np.empty(shape)
        # β₁^k and β₂^k: the weight that the zeros of the start still have
        self.beta1_power = self.beta2_power = 1.0

    def second_moment(self) -> np.ndarray:
        """The mean of squared gradients without the weight of the start."""
        return self.square / (1 - self.beta2_power)

    def __call__(self, gradient: np.ndarray, rate: float) -> np.ndarray:
        """The step for the next gradient, which is overwritten."""
        self.beta1_power *= self.beta1
        self.beta2_power *= self.beta2
        self.mean *= self.beta1
        self.mean += np.multiply(gradient, 1 - self.beta1, out=self.buffer)
        self.square *= self.beta2
        np.multiply(gradient, gradient, out=gradient)
        self.square += np.multiply(gradient, 1 - self.beta2, out=gradient)
        np.sqrt(self.square, out=self.buffer)
        self.buffer /= np.sqrt(1 - self.beta2_power)
        self.buffer += self.epsilon
        np.divide(self.mean, self.buffer, out=self.buffer)
        return np.multiply(self.buffer, rate / (1 - self.beta1_power), out=self.buffer)
