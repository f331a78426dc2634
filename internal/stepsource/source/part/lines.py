# One line of JSON is one call. rye keeps the program alive for its thread.
for line in sys.stdin:
    p = json.loads(line)
    answer = {"call": p.get("call"), "success": True}
    try:
        answer["data"], answer["events"] = step(p)
    except Refused as e:
        answer = {"call": p.get("call"), "success": False, "error": str(e)}
    print(json.dumps(answer), flush=True)
