# Test
## Main
A description with `code`.

### Triggers
- When the agent starts running

### Examples
- one example

### Steps
- Do it, checking N1

### Notes
- N1 Do not be rude
- Be brief
