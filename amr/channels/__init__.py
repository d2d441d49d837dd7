"""Channels: rules that write edges when nodes arrive. One file each, registered in CHANNELS."""

from __future__ import annotations

from amr.channels import temporal

CHANNELS = (temporal,)
