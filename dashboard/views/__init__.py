"""The pages: thin views over queries."""
