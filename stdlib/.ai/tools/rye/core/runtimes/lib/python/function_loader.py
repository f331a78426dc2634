# rye:signed:2026-11-20T00:00:00Z:aeae899d173ccb55d604abc2f9311bbbf1e37eec604f08f21a5d045d838cb518:Z7Gwndrb61beUrKC8EVeEJ9/gZFbWnlsZjNRlpvpVnsk9typLpCs8y07+eWVdaAmjbo0h+tV5gdf9NDlkQ/HBg:a1ae3899d5f9ee5766f556e5033d2ceedd334eb3e192c9506528618b728f96a4
"""Calls execute(params, project_path) of one Python file.

usage: function_loader.py TOOL PROJECT

The parameters are one JSON object on stdin. The result goes to the real
stdout as one line of JSON; everything that the tool or its children print
goes to stderr, so that no stray print can hide the result.
"""

# asyncio and traceback are imported where they are needed: they cost more
# time than most tools.
import importlib.util
import json
import os
import sys


def take_stdout():
    """Keep the real stdout for the result and point descriptor 1 at stderr."""
    sys.stdout.flush()
    result_fd = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return result_fd


def read_params():
    raw = sys.stdin.buffer.read()
    params = json.loads(raw) if raw.strip() else {}
    if not isinstance(params, dict):
        raise TypeError("the parameters must be one JSON object")
    return params


def load(path):
    """Import the tool, its folder first on the path, never over another module."""
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    if name in sys.modules or name in getattr(sys, "stdlib_module_names", ()):
        name = "tool_" + name
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("the tool is no Python file: " + os.path.basename(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


async def finish(awaitable):
    return await awaitable


def call(path, project):
    params = read_params()
    execute = getattr(load(path), "execute", None)
    if not callable(execute):
        raise AttributeError("the tool defines no execute(params, project_path)")
    result = execute(params, project)
    if hasattr(result, "__await__"):
        import asyncio

        result = asyncio.run(finish(result))
    return {} if result is None else result


def encode(result):
    """NaN and infinities are no JSON: they raise instead of spoiling it."""
    text = json.dumps(result, default=str, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def failure(message):
    return encode({"success": False, "error": {"code": "EXECUTION_FAILED", "message": message}})


def run(path, project):
    """Return the bytes to print and the exit status."""
    try:
        return encode(call(path, project)), 0
    except SystemExit as stop:
        if stop.code is None or stop.code == 0:
            return encode({}), 0
        return failure("the tool called sys.exit({!r})".format(stop.code)), 1
    except BaseException as err:
        import traceback

        traceback.print_exc(file=sys.stderr)
        return failure("{}: {}".format(type(err).__name__, err)), 1


def main():
    result_fd = take_stdout()
    out, status = run(sys.argv[1], sys.argv[2])
    with os.fdopen(result_fd, "wb") as real:
        real.write(out)
    return status


if __name__ == "__main__":
    sys.exit(main())
