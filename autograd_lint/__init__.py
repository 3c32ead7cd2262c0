"""A linter for custom PyTorch gradients: `torch.autograd.Function` classes that lose a gradient without a word."""

__version__ = "0.1.0"
