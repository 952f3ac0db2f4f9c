# Accountant
startup_mode: standby

An accountant.

## GetTax($income: float, $year: int = 2024) -> float
public: true
hidden: false
export: true

Computes the tax.

### Steps
- Compute $tax:float from $income and $year
- Return $tax
