"""A package of operators that a server's owner may install."""
