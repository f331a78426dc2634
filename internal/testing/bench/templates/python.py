#!/usr/bin/env python3
"""Counts words of a text and reports the most frequent ones ({{name}})."""

import collections
import json
import re
import sys

__version__ = "1.4.{{n}}"
__tool_type__ = "script"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__category__ = "{{category}}"
__tool_description__ = "Count the words of a text and return the most frequent ones."

CONFIG_SCHEMA = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "text": {"type": "string", "description": "the text to count in"},
        "top": {"type": "integer", "default": 10, "minimum": 1, "maximum": 1000},
        "fold": {"type": "boolean", "default": True, "description": "ignore case"},
    },
    "additionalProperties": False,
}

WORD = re.compile(r"\w+", re.UNICODE)


def words(text, fold):
    for match in WORD.finditer(text):
        word = match.group(0)
        yield word.casefold() if fold else word


def count(params):
    counter = collections.Counter(words(params["text"], params.get("fold", True)))
    top = counter.most_common(params.get("top", 10))
    return {"success": True, "distinct": len(counter), "top": [list(pair) for pair in top]}


def main():
    try:
        params = json.load(sys.stdin)
    except json.JSONDecodeError as error:
        print(json.dumps({"success": False, "error": f"the parameters are no JSON: {error}"}))
        return 1
    print(json.dumps(count(params)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
