import hashlib, json, re, sys
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__tool_description__ = "The step compose in Python."
PERSISTENT = "lines"
#include text

ARTIFACT = {"type": "object", "additionalProperties": False, "required": ["id"], "properties": {
    "id": {"type": "string"}, "offset": {"type": "integer", "minimum": 0, "default": 0}, "limit": {"type": "integer", "minimum": 1}}}
MOST_NAME, MOST_ITEMS, MOST_ATTACHMENTS = 64, 24, 16


def size(s):
    return len(s.encode())


def tokens(n):
    return (n + 3) // 4


def compact(v, **more):
    s = json.dumps(v, separators=(",", ":"), ensure_ascii=False, **more)
    return s.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def digest(s):
    return "sha256:" + hashlib.sha256(s.encode()).hexdigest()


def first16(d):
    return d.removeprefix("sha256:")[:16]


def attribute(s):
    for old, new in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;"), ("\n", " ")):
        s = s.replace(old, new)
    return '"' + s + '"'


def fence(ref, d, verdict, body):
    """Encloses a text in an element that the text cannot close."""
    name, n = "context-" + first16(d), 1
    while name in body:
        name, n = "context-" + first16(digest(d + " " + str(n))), n + 1
    return "<%s ref=%s trust=%s>\n%s\n</%s>" % (name, attribute(ref), attribute(verdict), body.rstrip("\n"), name)


def refuse(m, s):
    raise Refused("composing the prompt of " + m["directive"]["ref"] + ": " + s)


def entry(p, m, e):
    """The text of one entry of context, cut at its own bound; None for one that is missing."""
    kind, id = e["ref"].split(":", 1) if ":" in e["ref"] else ("knowledge", e["ref"])
    ref = kind + ":" + id
    if e.get("at") not in ("system", "before", "after", "", None):
        refuse(m, "the context %s is at %r, must be at system, before or after" % (ref, e["at"]))
    if e.get("missing"):
        if e.get("optional"):
            return None
        refuse(m, "the context " + ref + " does not exist in any space")
    if e.get("verdict") != "trusted" and not (e.get("draft") and e.get("verdict") in ("agent", "runtime")):
        refuse(m, "the context %s is %s, and only trusted items become context" % (ref, e.get("verdict", "")))
    body, most = e.get("text", ""), e.get("max_tokens") or 0
    if most <= 0 or tokens(size(body)) <= most:
        return body
    end = 0
    for line in re.findall(r"[^\n]*\n|[^\n]+", body):
        if tokens(size(body[: end + len(line)])) > most:
            break
        end += len(line)
    left = body[end:].removesuffix("\n").count("\n") + 1
    return body[:end] + text(p, "cut_context", lines=left, call="rye_load " + compact({"item_id": id, "item_type": kind}))


def context(p, m):
    out, used, sizes = {"system": [], "before": [], "after": []}, 0, []

    def add(at, source, ref, d, verdict, body):
        nonlocal used
        f = {"source": source, "digest": d, "text": fence(ref, d, verdict, body)}
        if not d:
            del f["digest"]
        out[at or "before"].append(f)
        used += tokens(size(f["text"]))
        sizes.append("%s %d" % (ref, tokens(size(f["text"]))))

    for e in m.get("context") or []:
        body = entry(p, m, e)
        if body is not None:
            add(e.get("at"), e["ref"], e["ref"], e.get("digest", ""), e.get("verdict", ""), body)
    for h in m.get("hooks") or []:
        origin = "result" if h["ref"].startswith("tool:") else "trusted"
        add(h.get("position"), "hook:" + h["hook"], h["ref"], digest(h["text"]), origin, h["text"])
    window, ratio = m.get("window") or 0, p["config"]["agent/agent"].get("context_max_ratio", 1)
    if window > 0 and used > int(ratio * window):
        refuse(m, "its context has about %d tokens, and at most %d fit: %s" % (used, int(ratio * window), ", ".join(sizes)))
    return out


def inputs(s, values):
    """Fills in {input:name}, {input:name?}, {input:name:default} and {input:name|default}."""

    def value(r):
        if r[1] in values:
            return values[r[1]]
        return r[0] if r[0].endswith(r[1] + "}") and not r[2] else (r[2] or "?")[1:]

    return re.sub(r"\{input:([A-Za-z0-9_-]+)(\?|[:|][^}]*)?\}", value, s)


def permitted(caps, verb):
    out = set()
    for c in caps:
        s = ".*" if c == "rye.*" else c.removeprefix("rye." + verb) if c.startswith("rye." + verb) else None
        if s is None or s and s[0] != ".":
            continue
        kind, dot, id = s.removeprefix(".").partition(".")
        out.add("*" if not dot and not kind else (kind + " " + id.replace(".", "/")).strip())
    return sorted(out)


def facts(p, m):
    f = m["facts"]
    out = [text(p, "facts", date=f["date"], system=f["system"], project=f["project"], workspace=f["workspace"])]
    for verb in ("search", "load", "execute", "sign"):
        items = permitted(m.get("capabilities") or [], verb)
        if items:
            out.append(text(p, "may", verb=verb, items=", ".join(items)))
    return "\n".join(out if len(out) > 1 else out + [text(p, "nothing")])


def system(p, m, placed):
    out, own, f = [], m.get("system"), m["facts"]
    if own and own["ref"] != m["directive"]["ref"]:
        body = inputs(own["text"], {}).strip()
        if body:
            out.append({"source": own["ref"], "digest": own["digest"], "text": body})
    out.append({"source": "facts", "text": facts(p, m)})
    environment = f.get("environment", "")
    if f.get("path"):
        environment = text(p, "environment", path=f["path"], platform=f.get("platform", ""), shell=f.get("shell", ""), git=f.get("git", ""))
    if environment:
        out.append({"source": "environment", "text": environment})
    return out + placed


def directive(p, m):
    d, name, values = m["directive"], "directive", {}
    for k, v in (m.get("inputs") or {}).items():
        s = v if isinstance(v, str) else compact(v, sort_keys=True)
        if "</directive" in s.lower():  # it could end the element and continue with steps of its own
            name = "directive-" + first16(d["digest"])
        values[k] = s
    body = inputs(d["body"], values).strip("\n")
    out = "<%s name=%s version=%s>\n%s\n</%s>" % (name, attribute(d["name"]), attribute(d["version"]), body, name)
    if not m.get("outputs"):
        return out
    lines = []
    for o in m["outputs"]:
        kind = (o.get("type") or "string") + (", required" if o.get("required") else "")
        lines.append("%s (%s)" % (o["name"], kind) + (": " + o["description"] if o.get("description") else ""))
    listed = lines[0] if len(lines) == 1 else "\n- " + "\n- ".join(lines)
    return out + "\n" + text(p, "return", outputs=listed)


def accepts(m, i, b):
    need = "image" if b["type"] == "image" else "pdf" if b["type"] == "file" and b.get("media_type") == "application/pdf" else ""
    if b["type"] not in ("image", "text", "file"):
        refuse(m, "attachment %d is a block of the type %s" % (i + 1, b["type"]))
    if i >= MOST_ATTACHMENTS:
        refuse(m, "it has %d attachments, and at most %d are permitted" % (len(m["attachments"]), MOST_ATTACHMENTS))
    if need and need not in (m.get("accepts") or []):
        refuse(m, "the model does not read attachment %d %s (%s)" % (i + 1, b.get("name", ""), b.get("media_type", "")))


def message(p, m, placed):
    before = [f["text"] for f in placed["before"]] + [directive(p, m)]
    after = [f["text"] for f in placed["after"]]
    if (m.get("message") or "").strip():
        after.append(m["message"].strip())
    attachments = m.get("attachments") or []
    for i, b in enumerate(attachments):
        accepts(m, i, b)
    if not attachments:
        return [{"type": "text", "text": "\n\n".join(before + after)}]
    out = [{"type": "text", "text": "\n\n".join(before)}] + attachments
    return out + ([{"type": "text", "text": "\n\n".join(after)}] if after else [])


def exact(caps):
    """Whether all that execute permits are tools without a wildcard."""
    for c in caps:
        own = c.removeprefix("rye.execute.tool.")
        if c in ("rye.*", "rye.execute") or c.startswith("rye.execute.") and (own == c or not own or re.search(r"[*?\[]", own)):
            return False
    return True


def tool_name(id, taken):
    name = id.replace("/", "__")
    if len(name) <= MOST_NAME and name not in taken:
        return name
    suffix = "_" + digest(id).removeprefix("sha256:")[:8]
    return name[: MOST_NAME - len(suffix)] + suffix


def tools(p, m):
    out = [{"name": "rye_artifact", "description": text(p, "artifact"), "schema": ARTIFACT, "tier": "T0"}]
    outputs = m.get("outputs") or []
    if outputs:
        properties = {}
        for o in outputs:
            properties[o["name"]] = {"type": o.get("type") or "string"}
            if o.get("description"):
                properties[o["name"]]["description"] = o["description"]
        required = [o["name"] for o in outputs if o.get("required")]
        schema = {"type": "object", "additionalProperties": False, "required": required, "properties": properties}
        out.append({"name": "directive_return", "description": text(p, "directive_return"), "schema": schema, "tier": "T0"})
    settings, used, whole = p["config"]["agent/agent"].get("tools", {}), 0, True
    taken = {"rye_artifact", "directive_return"} | {"rye_" + v["verb"] for v in m.get("verbs") or []}
    for i, o in enumerate(m.get("direct") or []):
        used += tokens(size(o["name"]) + size(o["description"]) + size(compact(o["schema"])))
        if i >= settings.get("max_direct", 24) or used > settings.get("max_direct_tokens", 8000):
            whole = False
            break
        name = tool_name(o["ref"].removeprefix("tool:"), taken)
        taken.add(name)
        out.append(dict(o, name=name))
    for v in m.get("verbs") or []:
        if v["verb"] == "execute" and whole and exact(m.get("capabilities") or []):
            continue  # every tool that it could call has its own definition
        o = {k: x for k, x in v.items() if k != "items"}
        o["name"] = "rye_" + v["verb"]
        if 0 < len(v.get("items") or []) <= MOST_ITEMS:
            o["description"] = o["description"].strip() + " " + text(p, "permitted", items=", ".join(sorted(v["items"])))
        out.append(o)
    return sorted(out, key=lambda o: o["name"].encode())


def step(p):
    m = p["params"]
    placed = context(p, m)
    out = {"system": system(p, m, placed["system"]), "message": {"role": "user", "blocks": message(p, m, placed)}, "tools": tools(p, m)}
    n = sum(size(s["text"]) for s in out["system"]) + sum(size(b.get("text", "")) for b in out["message"]["blocks"])
    n += sum(size(t["name"]) + size(t["description"]) + size(compact(t["schema"])) for t in out["tools"])
    return out | {"estimate": tokens(n)}, []


#include lines
