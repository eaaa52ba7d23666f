"""The three questions as claims of our own; estimands, regions and their reasons stand in `experiments`."""
