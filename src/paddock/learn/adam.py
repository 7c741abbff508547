"""Adam over all weights of a network at once."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

MEMORY, SQUARE_MEMORY = 0.9, 0.999
"""What the running means of the gradient and of its square keep of themselves in a step."""
EPSILON = 1e-5


class Adam:
    """The weights of a network, moved into one vector, and what Adam remembers of their gradient.

    With one vector a step is a dozen operations however many layers there are, which is most of the time of a small
    minibatch; and one function can be compiled that goes from the weights to the next weights.
    """

    def __init__(self, net: nn.Module) -> None:
        parameters = dict(net.named_parameters())
        self._shapes = {name: value.shape for name, value in parameters.items()}
        self._sizes = [value.numel() for value in parameters.values()]
        self.weights = torch.cat([value.detach().flatten() for value in parameters.values()])
        for name, view in self.named(self.weights).items():
            parameters[name].data = view
        self.weights.requires_grad_()
        self.mean, self.square = torch.zeros_like(self.weights), torch.zeros_like(self.weights)
        self.steps = torch.zeros((), dtype=torch.float64, device=self.weights.device)

    def named(self, weights: Tensor) -> dict[str, Tensor]:
        """The network's parameters as parts of `weights`."""
        parts = weights.split(self._sizes)
        return {name: part.view(shape) for (name, shape), part in zip(self._shapes.items(), parts, strict=True)}

    @torch.no_grad()
    def step(self, grad: Tensor, *, learning_rate: Tensor) -> None:
        """Move the weights against their gradient; all in place."""
        self.steps += 1
        self.mean.lerp_(grad, 1 - MEMORY)
        self.square.lerp_(grad.square(), 1 - SQUARE_MEMORY)
        mean_gain = 1 / (1 - MEMORY**self.steps)  # both means began at zero, which is made good for
        square_gain = 1 / (1 - SQUARE_MEMORY**self.steps)
        self.weights -= (learning_rate * mean_gain) * self.mean / ((square_gain * self.square).sqrt() + EPSILON)

    def state(self) -> dict[str, Tensor]:
        """What it remembers; the weights are the network's."""
        return {"mean": self.mean, "square": self.square, "steps": self.steps}

    def load(self, saved: Mapping[str, Tensor]) -> None:
        for name, value in self.state().items():
            value.copy_(saved[name])
