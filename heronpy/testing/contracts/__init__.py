"""What every plugin of a kind must do, as tests that an author runs against their own class."""

import pkgutil

import pytest

# so that a failed assertion shows its values, as in the author's own tests; before any suite is imported
pytest.register_assert_rewrite(*(f"{__name__}.{suite.name}" for suite in pkgutil.iter_modules(__path__)))
