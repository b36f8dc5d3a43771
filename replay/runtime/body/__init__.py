"""A task's body: all that follows from its inputs and its choices; engine and debugger both drive it."""
