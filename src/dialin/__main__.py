"""`python -m dialin`."""

from dialin.cli.app import main

if __name__ == "__main__":
    main()
