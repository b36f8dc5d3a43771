"""What `./run` and `./test` do: the environment, the programs that tests need, the checks."""
