"""Policies in simulators: half-spaces measured by branching, with their errors.

Nothing here has a table of transitions, so nothing here is a proof; results are statistical.

- `observe`: roll a policy out, branch the visited states, measure the rows.
- `result`: what was observed, and its files.
- `evaluate`: the loss of another policy or of other weights.
- `openness`: the distance of a row to the cone of the rows shown; the nearest reward.
- `setting`, `episodes`, `branches`: who is observed and by which measure, episodes, branches.
"""
