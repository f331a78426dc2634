# rye:signed:2026-02-14T00:27:54Z:d70ac35d51115849a6f966c51473f1a003ceaa996a3af3d409160b385d23a4c8:nIVvV3+Z90yX550IxEoedklKGGxO/ucFetVVknZxVuu2fuJO7lnaUvSjxefDXbMLbqBs0AOLjPlxFqtnNYdcAw:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_function_runtime"
__category__ = "demo"
__tool_description__ = "Greet somebody."

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
