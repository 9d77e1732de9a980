import attnlab
import numpy as np

t = attnlab.run("multihead", sentence="the cat sat", heads=2, define={"scaled": "scores / d_k"})
print(t["weights"].shape, t.axes["weights"])
print(t.worked("weights", 0, "sat", "cat"))

p = attnlab.probe("sdpa")  # arrays by id; print(p) is the task
scores = p["Q"] @ p["K"].swapaxes(-1, -2) / p["Q"].shape[-1]
shares = np.exp(np.where(p["mask"], scores, -np.inf))
weights = shares / shares.sum(axis=-1, keepdims=True)
print(attnlab.check("sdpa", output=weights @ p["V"], probe=p))
