"""The three questions as claims; estimands, regions and their reasons are in `experiments`."""
