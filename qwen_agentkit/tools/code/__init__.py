"""Running a model's Python behind walls: the sandbox, the runner inside it, and the kernel that speaks to it."""
