"""What every plugin of a kind must do, as tests that an author runs against their own class."""
