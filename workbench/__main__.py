"""`python -m workbench` is the command line."""

from workbench.cli import main

main()
