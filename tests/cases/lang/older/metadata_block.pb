# Accountant
metadata:
  startup_mode: default
  author: someone
---
An accountant.

## GetTax($income) -> float
metadata:
  public: true
---
Computes the tax.

### Steps
- Return the tax for $income
