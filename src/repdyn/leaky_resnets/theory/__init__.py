"""Hamiltonian mechanics of Leaky ResNets: cost of identity, energies, geodesics, local minima."""
