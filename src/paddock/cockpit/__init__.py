"""The cockpit: a server over a folder of runs, for a page that lists, watches, steers and keeps them."""
