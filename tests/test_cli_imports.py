"""Commands load what they need and no more: help and `import amr` stay light, questions load no media or model room."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import environment

HEAVY = ("torch", "faiss", "duckdb", "numpy", "openai", "av", "cv2", "onnxruntime", "tantivy", "pyarrow")
NOT_FOR_QUESTIONS = (
    *("openai", "torch", "av", "cv2", "onnxruntime", "faiss", "faster_whisper", "rapidocr", "pocketsphinx"),
    *("decord", "PIL", "transformers", "igraph", "model2vec"),
)
RUN = """
import sys
sys.argv = ["amr", *sys.argv[2:]] if sys.argv[1] == "command" else sys.argv
try:
    if sys.argv[0] == "amr":
        from amr.cli import main
        main()
    else:
        import amr
except SystemExit as end:
    assert not end.code, end.code
print("LOADED", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def loaded(*arguments: object) -> set[str]:
    """The packages in memory at the end of a command, or of `import amr`."""
    command = [sys.executable, "-c", RUN, *(str(argument) for argument in arguments)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("LOADED ")[2].split())


@pytest.mark.parametrize(
    "arguments", [("import",), ("command", "--help"), ("command", "ask", "--help"), ("command", "--version")]
)
def test_import_amr_and_help_load_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert not loaded(*arguments) & set(HEAVY)


@pytest.mark.parametrize("command", [("ask", "where is my phone?"), ("query", "phone"), ("timeline",), ("status",)])
def test_a_question_loads_no_model_and_no_media(command: tuple[str, ...], memory: Path) -> None:
    assert not loaded("command", *command, "--memory", memory) & set(NOT_FOR_QUESTIONS)
