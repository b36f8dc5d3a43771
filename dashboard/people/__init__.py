"""Who may do what: logging in, one-time links, API tokens, sharing, the audit trail."""
