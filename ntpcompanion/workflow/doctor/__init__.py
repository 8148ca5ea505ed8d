"""What is wrong with an environment or a machine, and how to fix it.

- `doctor_report`: the facts collected, and every check in order
- `questions`: what other programs are asked: a kernel, torch, a browser
- `environment_checks`: the judgement of Python, packages and kernels
- `machine`: the judgement of folders, disk, memory, processor, GPU and browser
"""
