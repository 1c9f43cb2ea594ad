"""`python -m didact.cli`."""

from didact.cli import main

main()
