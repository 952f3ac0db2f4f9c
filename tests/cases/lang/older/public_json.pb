# Test
## Main
### Triggers
- T1:BGN At the beginning
### Steps
- 01:RET

```public.json
[{"name": "Main", "triggers": []}]
```
