# Test
!import parts/shared.pb

## Main
### Triggers
- At the beginning
### Steps
- Shared()
