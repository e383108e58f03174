"""``python -m searchsim.cli``."""

from searchsim.cli import main

if __name__ == "__main__":
    main()
