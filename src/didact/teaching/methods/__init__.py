"""Teachers: SCOT, the exact minimum, UVM, and the random baseline."""
