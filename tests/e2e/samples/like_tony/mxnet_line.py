"""Learns y = 5x + 2 with MXNet's asynchronous parameter server."""

import os
import sys
import traceback

import mxnet as mx
import numpy as np

if os.environ["DMLC_ROLE"] != "worker":
    sys.exit(0)  # a server or the scheduler, which has ended
if sys.argv[1:] != ["--param1", "--param2"]:
    sys.exit(f"arguments {sys.argv[1:]}")

xs = np.arange(0, 1, 0.001)
batches = mx.io.NDArrayIter(xs, 5 * xs + 2, batch_size=50, shuffle=True, label_name="line_label")
line = mx.sym.FullyConnected(data=mx.sym.Variable("data"), name="fc", num_hidden=1)
line = mx.sym.LinearRegressionOutput(data=line, label=mx.sym.Variable("line_label"), name="line")
model = mx.mod.Module(symbol=line, data_names=["data"], label_names=["line_label"])
try:
    model.fit(batches, kvstore=mx.kv.create("dist_async"), optimizer_params={"learning_rate": 0.1}, num_epoch=20)
except BaseException:
    traceback.print_exc()
    os._exit(1)  # an ordinary exit would wait for the other workers
slope, offset = (model.get_params()[0][name].asnumpy().item() for name in ("fc_weight", "fc_bias"))
print(f"slope {slope:.2f} offset {offset:.2f}", flush=True)
