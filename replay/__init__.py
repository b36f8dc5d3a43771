"""The causal-logging runtime: logs, bundles, recovery, the engine and the replay debugger. Standard library only."""
