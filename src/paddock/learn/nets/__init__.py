"""The networks of policies and critics, put together from parts by what `ppo.net` names."""
