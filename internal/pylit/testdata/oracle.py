"""Reads file names from standard input and prints, per file, what Python's own
parser says about the module-level assignments: one JSON line each."""
import ast, json, sys, warnings

warnings.simplefilter("ignore")


class NotLiteral(Exception):
    pass


def number(v):
    if type(v) is int and -(2**63) <= v < 2**63:
        return ["i", str(v)]
    if type(v) is float and v - v == 0:
        return ["f", repr(v)]
    raise NotLiteral


def enc(n):
    if isinstance(n, ast.Constant):
        v = n.value
        if v is None or v is True or v is False:
            return v
        if isinstance(v, str):
            if any(0xD800 <= ord(c) < 0xE000 for c in v):
                raise NotLiteral
            return ["s", v]
        return number(v)
    if isinstance(n, (ast.List, ast.Tuple, ast.Set)):
        return ["l", [enc(e) for e in n.elts]]
    if isinstance(n, ast.Dict):
        out = {}
        for k, v in zip(n.keys, n.values):
            if k is None:
                raise NotLiteral
            k = enc(k)
            if not (isinstance(k, list) and k[0] == "s"):
                raise NotLiteral
            out[k[1]] = enc(v)
        return ["d", out]
    if isinstance(n, ast.UnaryOp) and isinstance(n.op, (ast.USub, ast.UAdd)):
        return number(signed(n))
    raise NotLiteral


def signed(n):
    if isinstance(n, ast.UnaryOp) and isinstance(n.op, (ast.USub, ast.UAdd)):
        v = signed(n.operand)
        return -v if isinstance(n.op, ast.USub) else v
    if isinstance(n, ast.Constant) and type(n.value) in (int, float):
        return n.value
    raise NotLiteral


def depth(n):
    return 1 + max((depth(c) for c in ast.iter_child_nodes(n)), default=0)


def module(src):
    values, places, other = {}, {}, {}
    for s in ast.parse(src).body:
        if isinstance(s, ast.Assign):
            names = []
            for t in s.targets:
                if not isinstance(t, ast.Name):
                    break
                names.append(t.id)
            whole = len(names) == len(s.targets)
        elif isinstance(s, ast.AnnAssign) and s.simple and s.value is not None:
            names, whole = [s.target.id], True
        else:
            continue
        for n in names:
            values.pop(n, None), places.pop(n, None), other.pop(n, None)
            try:
                if not whole:
                    raise NotLiteral
                values[n] = enc(s.value)
                places[n] = [s.value.lineno, s.value.col_offset + 1]
            except NotLiteral:
                other[n] = True
    return {"values": values, "places": places, "other": sorted(other)}


for line in sys.stdin:
    try:
        with open(line.rstrip("\n"), "rb") as f:
            out = module(f.read())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        out = {"error": type(e).__name__}
    print(json.dumps(out))
