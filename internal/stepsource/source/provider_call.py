import json, sys, time
import rye
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step provider_call in Python: it asks rye for the call of the model."
PERSISTENT = "lines"
SANDBOX = {"broker": True, "net": "none"}
CALLS = ["rye.execute.tool.*"]  # name your provider here: rye.execute.tool.rye.agent.providers.anthropic

# The request, its reservation, its record and the key of the service are rye's: this program
# decides when the provider item is executed, and what the loop reads about the answer.


class Refused(Exception):
    pass


def cut(s, most):
    return s.encode()[:most].decode(errors="ignore")


def step(p):
    params = p.get("params") or {}
    pause = params.get("delay") or 0
    time.sleep(pause if pause > 0 else (params.get("delay_ms") or 0) / 1000)
    try:
        answer = rye.execute(params["provider"])
    except rye.Error as e:
        raise Refused(str(e))
    return {"turn": answer["turn"], "stop": answer["stop"], "text": cut(answer["text"], 2000), "calls": answer["calls"], "usage": answer["usage"]}, []


#include lines
