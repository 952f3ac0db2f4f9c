## Shared
### Steps
- Return 1
