"""What the parts of a recording say of one another, held against each other without executing anything."""
