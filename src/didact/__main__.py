"""`didact` and `python -m didact`: an interrupt is one line also before and after the command."""

import signal
import sys


def run() -> None:
    """Run the command line in a process of its own."""
    try:
        from didact.cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("didact: interrupted\n")
        sys.exit(130)
    finally:
        # The interpreter takes a moment to end, and an interrupt there would print a traceback.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    run()
