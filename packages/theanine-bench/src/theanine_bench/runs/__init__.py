"""Runs: execute a task in a folder, resume it, replay it and read it back."""

from theanine_bench.config import NO_METHOD, RunConfig
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.replay import Replay, replay
from theanine_bench.runs.runner import Progress, RunLimits, Runner, default_folder, run_task
from theanine_bench.runs.saved_run import SavedRun, read_run, read_runs
from theanine_bench.runs.task import RunModels, Task

__all__ = [
    "NO_METHOD",
    "Progress",
    "Replay",
    "RunConfig",
    "RunFolder",
    "RunLimits",
    "RunModels",
    "Runner",
    "SavedRun",
    "Task",
    "default_folder",
    "read_run",
    "read_runs",
    "replay",
    "run_task",
]
