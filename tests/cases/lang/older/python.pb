# Calculator
You calculate.

```python
from typing import List

@playbook(triggers=["T1:BGN At the beginning"], public=True)
async def main() -> None:
    await Report(3)

@playbook
def add(a: int, b: int) -> int:
    return a + b

def helper():
    pass
```

## Report($n: int)
Uses {$n}.

### Steps
- $sum = add($n, 4)
- Tell the user the $sum
- Return

```python
@playbook
def other(): ...
```
