"""Packages of operators, as an owner of a server would install them."""
