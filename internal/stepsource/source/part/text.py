class Refused(Exception):
    """Why the step cannot decide: the thread ends with this text."""


def text(p, name, /, **values):
    """A text of agent/agent with its {names} filled in. A value is not a template again."""
    texts = p["config"]["agent/agent"].get("texts", {})
    if name not in texts:
        raise Refused("reading config:agent/agent: texts." + name + " is missing")
    return re.sub(r"\{(\w+)\}", lambda m: str(values.get(m[1], m[0])), texts[name])


def conversation(p):
    return [json.loads(line) for line in open(p["conversation_file"], encoding="utf-8")]


def added(source, text):
    blocks = [{"type": "text", "text": text}]
    return {"event": "message_added", "data": {"role": "user", "source": source, "blocks": blocks}}
