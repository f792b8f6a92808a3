"""Records between APIs and targets: lines, runs, mappings, pairs, tables, files.

Where to begin, below `outkey.sync`; nothing is loaded here:

- `core.line.line.SyncLine`: a sync line and its settings
- `core.run.run.Run`: a run of a line: its state, its counts
- `core.pairs.section.Pair`: two lines that synchronize both directions
- `core.mapping.records.Target`: a model, a table or a file that a line writes
- `engine.line_registry.Registry`: the stored configurations and lines
- `engine.runs.runs.Runs`: the stored runs: queued, begun, ended
- `engine.runs.runner.SyncRunner`: runs, checks and suggests lines
- `ports.sync.RunRows`: the rows that a host stores runs in
"""
