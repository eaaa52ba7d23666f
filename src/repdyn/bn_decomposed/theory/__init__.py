"""Nachum et al.: batch normalization as recentering and rescaling; ranks, angles, the odd point."""
