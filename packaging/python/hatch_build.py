"""Puts the binary of Playhouse that PLAYHOUSE_BINARY names into the wheel, as the command `playhouse`, and the licences of
what is compiled in, which PLAYHOUSE_LICENCES names.

Without it the wheel is for every platform, and `playhouse` has to be on PATH."""

import os
import re
import sysconfig
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MACHINES = {"x64": "x86_64", "AArch64": "aarch64"}

# What a manylinux system has for sure, as far as a program in Rust asks for it.
SYSTEM_LIBRARIES = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux-\w+|ld-linux-x86-64)\.so\.\d+")


class BinaryHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        binary = os.environ.get("PLAYHOUSE_BINARY")
        if not binary:
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(Path(binary))}"
        licences = os.environ.get("PLAYHOUSE_LICENCES")
        if licences:
            build_data["extra_metadata"] = {licences: "THIRD-PARTY.txt"}
        build_data["shared_scripts"] = {os.path.abspath(binary): "playhouse.exe" if binary.endswith(".exe") else "playhouse"}


def platform_tag(binary: Path) -> str:
    """The oldest system that the binary runs on."""
    with binary.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return re.sub(r"[-.]", "_", sysconfig.get_platform())
        elf = ELFFile(file)
        machine = MACHINES[elf.get_machine_arch()]
        needed = elf.get_section_by_name(".gnu.version_r")
        if not isinstance(needed, GNUVerNeedSection):
            return f"manylinux_2_17_{machine}.musllinux_1_1_{machine}"
        versions = []
        for library, symbols in needed.iter_versions():
            if not SYSTEM_LIBRARIES.fullmatch(library.name or ""):
                raise SystemExit(f"{binary} needs {library.name}, which not every system has; build it without")
            for symbol in symbols:
                # Packed relocations came with glibc 2.36.
                match = re.fullmatch(r"GLIBC_2\.(\d+)(\.\d+)?", (symbol.name or "").replace("GLIBC_ABI_DT_RELR", "GLIBC_2.36"))
                versions += [int(match[1])] if match else []
        return f"manylinux_2_{max([17, *versions])}_{machine}"
