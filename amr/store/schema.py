"""The tables of a memory, complete from the first version so that later parts need no migration.

`nodes.commit_id` is null while the pass that wrote the node is staged: a second pass over a source replaces
the first only when it is finished, and until then none of its rows is seen or counted.
"""

from __future__ import annotations

FORMAT_VERSION = 1

MEMORY_WORLD = -1
"""The id under which `worlds` keeps the sum of the whole memory, above every scope."""

DDL = """
CREATE TABLE meta(key VARCHAR, value VARCHAR);
CREATE TABLE sources(
    source_id BIGINT, scope_id VARCHAR, key VARCHAR, kind VARCHAR, name VARCHAR, uri VARCHAR,
    origin_wall_ms BIGINT, duration_ms BIGINT, complete BOOLEAN);
CREATE TABLE passes(
    pass_id BIGINT, source_id BIGINT, perceiver VARCHAR, settings_hash VARCHAR, clip_ms BIGINT, state VARCHAR);
CREATE TABLE clips(
    source_id BIGINT, pass_id BIGINT, clip_index BIGINT, t_start_ms BIGINT, t_end_ms BIGINT, uri VARCHAR,
    state VARCHAR, error VARCHAR);
CREATE TABLE observations(
    source_id BIGINT, clip_index BIGINT, pass_id BIGINT, analysis VARCHAR, raw VARCHAR, prompt_hash VARCHAR,
    model VARCHAR, cost_usd DOUBLE, commit_id BIGINT);
CREATE TABLE nodes(
    node_id BIGINT, kind VARCHAR, scope_id VARCHAR, source_id BIGINT, pass_id BIGINT, parent_id BIGINT,
    clip_first BIGINT, clip_last BIGINT, t_start_ms BIGINT, t_end_ms BIGINT, time_ms BIGINT, text VARCHAR,
    payload VARCHAR, hash VARCHAR, valid_from BIGINT, valid_to BIGINT, learnt_at BIGINT, retired_at BIGINT,
    commit_id BIGINT, retired_commit BIGINT, withdrawn_commit BIGINT);
CREATE TABLE edges(
    edge_id BIGINT, scope_id VARCHAR, channel VARCHAR, src BIGINT, dst BIGINT, payload VARCHAR, hash VARCHAR,
    valid_from BIGINT, valid_to BIGINT, learnt_at BIGINT, retired_at BIGINT, commit_id BIGINT,
    retired_commit BIGINT, withdrawn_commit BIGINT);
CREATE TABLE mentions(
    node_id BIGINT, scope_id VARCHAR, handle VARCHAR, role VARCHAR, t_start_ms BIGINT, learnt_at BIGINT,
    retired_at BIGINT, commit_id BIGINT, retired_commit BIGINT, withdrawn_commit BIGINT);
CREATE TABLE vectors(node_id BIGINT, lane VARCHAR, v FLOAT[]);
CREATE TABLE worlds(node_id BIGINT, sum VARCHAR, children BIGINT);
CREATE TABLE lifecycle(
    node_id BIGINT, importance DOUBLE, pinned BOOLEAN, archived_at BIGINT, last_access BIGINT, accesses BIGINT,
    trust DOUBLE, private BOOLEAN, tags VARCHAR);
CREATE TABLE calls(
    key VARCHAR, role VARCHAR, prompt VARCHAR, prompt_hash VARCHAR, model VARCHAR, prompt_tokens BIGINT,
    completion_tokens BIGINT, cost_usd DOUBLE, latency_ms DOUBLE, cached BOOLEAN, command VARCHAR, wall_ms BIGINT);
CREATE TABLE commits(commit_id BIGINT, wall_ms BIGINT, command VARCHAR, root VARCHAR, rows BIGINT);
CREATE TABLE purges(
    purge_id BIGINT, commit_id BIGINT, wall_ms BIGINT, reason VARCHAR, root_before VARCHAR, root_after VARCHAR);
"""
