"""A real llama.cpp server in this process: `llama.py MODEL.gguf` prints its address and serves until its input ends."""

import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx = 16384
parameters.n_parallel = 1
parameters.use_jinja = True
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
