"""One thread for each process: several on few cores would wait for each other. No downloads."""

import os

import torch

torch.set_num_threads(1)
os.environ["BATCHENSEMBLE_OFFLINE"] = "1"
