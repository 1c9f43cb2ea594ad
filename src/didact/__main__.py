"""`python -m didact`."""

from didact.cli import main

main()
