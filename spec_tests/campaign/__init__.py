"""A campaign: a run that is cut into items, which any number of machines work on, and whose reports are merged into one.

An item is one backend, one operation, one dtype and a range of seeds. It runs in a process of its own and leaves one report.
`plan` lists the items, `work` runs some of them, and `merge` adds their reports up and refuses those that do not belong together.
"""
