# rye:signed:2026-02-14T00:27:54Z:06dfdd421b20b6dd6d4b5f7de1dc7ac069133a6ea002d7e5318a81ac2848a11d:BXhr9VMbs6YLjicCUrimDHi6KNAeaEPkULa1Jj7B8CZSocOEgTamwOcu91EMcPGnwHEYT9/faZpExvEwb7MLBQ:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_function_runtime"
__category__ = "demo"
__tool_description__ = "Greet a person."

CONFIG_SCHEMA = {
    "type": "object",
    "required": ["who"],
    "properties": {
        "who": {"type": "string", "description": "whom to greet"},
        "times": {"type": "integer", "default": 1, "minimum": 1},
    },
    "additionalProperties": False,
}


def execute(params, project_path):
    return {"greeting": " ".join(["hello " + params["who"]] * params["times"])}
