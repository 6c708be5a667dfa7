"""What a verdict costs, and what others' tests see: `python -m benchmarks` runs every part, `python -m benchmarks.<part>` one."""
