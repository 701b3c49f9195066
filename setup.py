"""Mount the top-level folders as heronpy.* packages; pyproject.toml holds the rest."""

import sysconfig
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel

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


class Wheel(bdist_wheel):
    """Its tag says what is in it: without the compiled module it is for every machine."""

    def run(self) -> None:
        self.run_command("build_ext")
        if not all(Path(output).exists() for output in self.get_finalized_command("build_ext").get_outputs()):
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()


setup(
    cmdclass={"bdist_wheel": Wheel},
    packages=sorted(packages),
    package_dir={f"heronpy.{folder}": folder for folder in FOLDERS},
    ext_modules=[column_keys],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if stable else {},
)
