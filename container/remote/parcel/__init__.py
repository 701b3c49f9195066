"""What containers on other machines are made of: one file with the engine, plugins and the user's code."""

from heronpy.container.remote.parcel.parcel import (
    LAUNCH,
    PACKAGE,
    Parcel,
    build_package,
    requirements_of,
    secret_settings,
)

__all__ = ["LAUNCH", "PACKAGE", "Parcel", "build_package", "requirements_of", "secret_settings"]
