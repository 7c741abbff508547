"""On the machine: running an exported controller, with no simulator and no learning library."""
