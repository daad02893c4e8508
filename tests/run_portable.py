"""Runs tests/portable on a device, eager and compiled, against PyTorch's final losses: python run_portable.py [device [NAME...]]."""
import sys
import time
import warnings

import portable_scripts

import pyborch
import pyborch.devices

warnings.simplefilter("error")
pyborch.set_default_device(sys.argv[1] if len(sys.argv) > 1 else "webgpu")
backend = pyborch.devices.backend()
wrong = 0
for name in sys.argv[2:] or list(portable_scripts.WANTED):
    started = time.perf_counter()
    main = portable_scripts.script(name).main
    eager = main()
    text = portable_scripts.differs(eager, portable_scripts.WANTED[name], 0.01)
    found = main(lambda step: portable_scripts.compiled(step, backend.synchronize))
    text = text or (f"compiled {text}" if (text := portable_scripts.differs(found, eager, 1e-3)) else "")
    wrong += bool(text)
    print(f"{name}: {eager:.6g} {text or 'as PyTorch'}, {time.perf_counter() - started:.1f} s", flush=True)
print(pyborch.get_default_device())
sys.exit(1 if wrong else 0)
