"""The checks of the suite `long`."""
