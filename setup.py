"""Mount the top-level folders as heronpy.* packages; pyproject.toml holds the rest."""

import sysconfig

from setuptools import Extension, find_packages, setup

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

#: one binary for Python 3.11 and later, except where Python is built without its lock
stable = not sysconfig.get_config_var("Py_GIL_DISABLED")
column_keys = Extension(
    "heronpy.kernel.flow._column_keys",
    ["kernel/flow/_column_keys.c"],
    depends=["kernel/flow/_xxh3.h"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if stable else [],
    extra_compile_args=["-O3"],
    py_limited_api=stable,
    optional=True,  # without a compiler, kernel/flow/column_keys.py gives the same answers
)

setup(
    packages=sorted(packages),
    package_dir={f"heronpy.{folder}": folder for folder in FOLDERS},
    ext_modules=[column_keys],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if stable else {},
)
