"""What is installed: the product, all of it, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import sash
from tests.gates import tree


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    place: Path = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=tree.ROOT, check=True, capture_output=True)
    [built] = place.iterdir()
    return ZipFile(built)


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel: ZipFile) -> None:
    ours = {path.relative_to(tree.SOURCE.parent).as_posix() for path in tree.files() if tree.SOURCE in path.parents}
    about = f"sash-{sash.__version__}.dist-info/"
    assert {name for name in wheel.namelist() if not name.startswith(about)} == ours


def test_the_wheel_says_its_license_and_its_command(wheel: ZipFile) -> None:
    about = f"sash-{sash.__version__}.dist-info"
    metadata = wheel.read(f"{about}/METADATA").decode()
    assert "License-Expression: MIT" in metadata
    assert f"{about}/licenses/LICENSE" in wheel.namelist()
    assert "sash = sash.cli.main:main" in wheel.read(f"{about}/entry_points.txt").decode()
