"""Learners: from experience to weights. They see the environment contract and nothing else."""
