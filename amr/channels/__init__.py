"""Channels: rules that write edges when events arrive. One file each, registered in CHANNELS."""

from __future__ import annotations

from amr.channels import cross_modal, entity_jump, object_lifecycle, temporal

CHANNELS = (temporal, entity_jump, object_lifecycle, cross_modal)
