#!/usr/bin/perl
# rye:signed:2026-02-14T00:27:54Z:494eee4260107e4fab6e1e3cd500940d8552d35beaef23ff0a76ea839cc91c0d:d4vEo9/yv3GiEVTu0nFAIxtyxAyUYEbSoDOgPnHodXhHqyrlUFdt1RiCWyOCSF0x91t6C4WsB4SUvbZ9l01tDQ:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092
# version: 1.0.0
# tool_type: script
# executor_id: demo/perl_runtime
# category: demo
# description: Greet somebody loudly, in Perl.
# config_schema:
#   {"type": "object", "required": ["who"], "additionalProperties": false,
#    "properties": {"who": {"type": "string"}}}
printf "{\"greeting\": \"HELLO %s\"}\n", uc $ENV{RYE_PARAM_WHO};
