"""What docs/python.md shows is what stands in `guide/`, and does what the guide says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from conftest import Server
from nbclient import NotebookClient

ROOT = Path(os.environ["PLAYHOUSE_REPOSITORY"])


def blocks() -> list[tuple[str, str]]:
    """The blocks of the guides that name a file, with their texts."""
    found = []
    for guide in ("docs/python.md", "docs/migrating.md"):
        text = (ROOT / guide).read_text()
        found += re.findall(r"^```(?:python|markdown) (tests/third_party/python/\S+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return found


@pytest.mark.parametrize(("path", "text"), blocks())
def test_a_block_is_a_file(path: str, text: str) -> None:
    assert text == (ROOT / path).read_text()


def test_every_block_in_python_is_one_of_these() -> None:
    guide = (ROOT / "docs/python.md").read_text()
    assert guide.count("```python") == guide.count("```python tests/third_party/python/guide/") > 5


def script(folder: Path, name: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, name, *arguments], cwd=folder / "guide", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_scripts(folder: Path) -> None:
    assert script(folder, "talk.py") == (
        "Welcome to the order desk.\nPlease tell me the number of your order.\nYour order: shipped.\n4334 shipped\n"
    )
    assert script(folder, "functions.py") == "Your order: shipped.\n"


def test_the_clients(folder: Path, serve: Callable[..., Server]) -> None:
    url = serve("guide/desk.md", "--model", "embedded").url
    opening = "Welcome to the order desk.\nPlease tell me the number of your order.\n"
    assert script(folder, "client.py", url) == (
        f'{opening}May I call desk.refund(order="4335")?\nYour order: refunded 4335.\nfinished\n'
        "409 the session is over; begin a new one, or fork it\n"
    )
    assert script(folder, "watch.py", url) == f"{opening}desk.order_state gave shipped\nYour order: shipped.\n"


def test_the_tests(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "test_desk.py"]
    done = subprocess.run(command, cwd=folder / "guide", capture_output=True, text=True)
    assert "2 passed" in done.stdout, done.stdout


def test_a_failing_test_shows_the_report(folder: Path) -> None:
    conversation = folder / "guide/desk.test.md"
    conversation.write_text(conversation.read_text().replace("Your order: shipped.", "Your order: lost."))
    command = [sys.executable, "-m", "pytest", "-q", "test_desk.py"]
    done = subprocess.run(command, cwd=folder / "guide", capture_output=True, text=True)
    assert "1 failed, 1 passed" in done.stdout
    assert "playhouse test desk.test.md parcels.test.md: exit code 1\nFAILED desk.test.md" in done.stdout
    assert "Your order: lost." in done.stdout and "Your order: shipped." in done.stdout


def test_the_notebook(folder: Path) -> None:
    notebook = nbformat.read(folder / "guide/notebook.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    expected = [output["text"] for cell in notebook.cells for output in cell.get("outputs", [])]
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(folder / "guide")}}).execute()
    assert [output["text"] for cell in notebook.cells for output in cell.get("outputs", [])] == expected != []
