"""One thread for each process of the tests: several on few cores would wait for each other."""

import torch

torch.set_num_threads(1)
