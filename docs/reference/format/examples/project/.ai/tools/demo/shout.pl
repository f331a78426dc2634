#!/usr/bin/perl
# rye:signed:2026-02-14T00:27:54Z:514c374be4142636fc91c40fae069735d56b302ce9a8cc45e4a86f9586d3260f:dOoCp0sCxzP+uRoemRxCkqnMTziZMKUPbTldu38NOjNb1t9RK0kxzyFTNxLvcW1Pc0MJ3LJPDSfSGoxYcL90BA:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092
# version: 1.0.0
# tool_type: script
# executor_id: demo/perl_runtime
# category: demo
# description: Greet a person loudly, in Perl.
# config_schema:
#   {"type": "object", "required": ["who"], "additionalProperties": false,
#    "properties": {"who": {"type": "string"}}}
printf "{\"greeting\": \"HELLO %s\"}\n", uc $ENV{RYE_PARAM_WHO};
