#!/usr/bin/env bash
# rye:signed:2026-02-14T00:27:54Z:bb4e58b0e826003ce0f3aaeeff1ce8883f7438a6d8f93faa39b6b2ded0864fae:+sGYweQeNSSJ0zMKIHs2rCJGzZY1UzQIm02381+fXGzSu73cTUrnvGhvtZm777IFH7gB5x6CLV/JPEfjdyJVCw:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092
# version: 1.0.0
# tool_type: script
# executor_id: rye/core/runtimes/bash_runtime
# category: demo
# description: Write a text in capital letters.
# config_schema: {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
set -eu
printf '%s\n' "${RYE_PARAM_TEXT^^}"
