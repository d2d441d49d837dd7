"""Benchmarks, one file each, and the harness that they share.

- Benchmarks: `locomo`, `longmemeval`, `beam`, `egolife_qa`, `egolife_text` (`week`, `object_letters`, `unmentioned`)
  and `epic`; beside each its questions, gold and scoring under its name.
- A run: `evaluate` → `run` → `folder`; `questions`, `files`, `made_with`; `tally`, `intervals`, `report`.
- Retrieval of chats: `chat_run`, `retrieval`, `recall`; `baselines` is plain search, `asking` asks a system.
- With models: `answering` → `reading`, `judging`, `scores`; `in_threads`, `costs`.
- Two runs side by side: `compare`, `paired`.
"""
