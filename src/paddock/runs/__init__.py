"""Runs: the durable record of a training, a folder that everything after it reads."""
