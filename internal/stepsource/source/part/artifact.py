WIDTH = 1500  # characters of the longest line of an artifact


def size(s):
    return len(s.encode())


def lines_of(s):
    return re.findall(r"[^\n]*\n|[^\n]+", s)


def wrap(s, width):
    """Divides lines of more than width characters."""
    out = []
    for line in lines_of(s):
        while len(line.removesuffix("\n")) > width:
            out.append(line[:width] + "\n")
            line = line[width:]
        out.append(line)
    return "".join(out)


def canonical(v):
    """Numbers as rye writes them: 1.0 is 1."""
    if isinstance(v, float) and v == int(v) and abs(v) < 1e21:
        return int(v)
    if isinstance(v, list):
        return [canonical(x) for x in v]
    if isinstance(v, dict):
        return {k: canonical(x) for k, x in v.items()}
    return v


def once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def constant(name):
    raise ValueError(name)


def artifact_text(s, width):
    """A result in lines of at most width characters, which can be read one by one."""
    trimmed = s.strip()
    if trimmed[:1] in ("{", "["):
        try:
            doc = json.loads(trimmed, object_pairs_hook=once, parse_constant=constant)
        except (ValueError, RecursionError):
            pass
        else:
            doc = json.dumps(canonical(doc), indent=2, sort_keys=True, ensure_ascii=False)
            return wrap(doc.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"), width), ".json"
    return wrap(s, width), ".txt"


def artifact_id(s):
    return hashlib.sha256(s.encode()).hexdigest()
