#!/usr/bin/env pb
# Test
## Main
### Triggers
- At the beginning
### Steps
- Say("user", "Hello")
- Return
