"""Mount the top-level folders as heronpy.* packages; pyproject.toml holds the rest."""

from setuptools import find_packages, setup

FOLDERS = (
    "kernel",
    "plugins",
    "stream_manager",
    "instances",
    "container",
    "cli",
    "planner",
    "operators",
    "stages",
)

packages = set(find_packages(include=["heronpy", "heronpy.*"]))
for folder in FOLDERS:
    packages.add(f"heronpy.{folder}")
    packages.update(f"heronpy.{folder}.{sub}" for sub in find_packages(folder))

setup(packages=sorted(packages), package_dir={f"heronpy.{folder}": folder for folder in FOLDERS})
