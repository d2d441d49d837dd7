"""Settings: the default, then --config FILE, then AMR_* in the environment, then flags; the later one counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import amr, ran
from tests.support.videos import make_video


@pytest.fixture(scope="module")
def twenty_seconds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("film") / "film.mp4", 20, size="64x48", rate=2, sound=None)


@pytest.mark.parametrize(
    ("config", "environment", "flag", "clips"),
    [
        (None, None, None, 2),
        (5, None, None, 4),
        (5, 4, None, 5),
        (5, 4, 2, 10),
        (None, 4, 2, 10),
        (5, None, 2, 10),
    ],
)
def test_flags_count_more_than_the_environment_than_the_file_than_the_default(
    config: int | None, environment: int | None, flag: int | None, clips: int, twenty_seconds: Path, tmp_path: Path
) -> None:
    options: list[object] = ["--perceiver", "null", "--memory", tmp_path / "memory"]
    if config is not None:
        (tmp_path / "my.toml").write_text(f"clip_seconds = {config}\n")
        options += ["--config", tmp_path / "my.toml"]
    if flag is not None:
        options += ["--clip-seconds", flag]
    env = {} if environment is None else {"AMR_CLIP_SECONDS": str(environment)}
    assert ran("ingest", twenty_seconds, *options, "--json", env=env).json["clips"] == clips


def test_the_memory_is_the_flag_else_amr_memory_else_the_users_data_directory(film: Path, tmp_path: Path) -> None:
    named, data = {"AMR_MEMORY": str(tmp_path / "named")}, {"XDG_DATA_HOME": str(tmp_path / "data")}
    ran("ingest", film, "--perceiver", "null", env=named)
    assert ran("status", "--json", env=named).json["memory"] == str(tmp_path / "named")
    assert amr("status", "--memory", tmp_path / "flag", env=named).code == 3
    done = amr("status", env=data)
    assert done.code == 3
    if str(tmp_path / "data") not in done.err:
        pytest.skip("the user data directory does not follow XDG here")
    assert str(tmp_path / "data" / "amr" / "memory") in done.err


def test_a_config_that_ships_with_the_package_is_found_from_any_folder(film: Path, tmp_path: Path) -> None:
    command = ("ingest", film, "--config", "configs/openrouter.toml", "--memory", tmp_path / "memory")
    done = amr(*command, env={"OPENROUTER_API_KEY": ""}, cwd=tmp_path)
    assert done.code == 4
    assert "OPENROUTER_API_KEY" in done.err
