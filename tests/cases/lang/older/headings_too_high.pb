# Variables
## Main
## Triggers
- When program starts
## Steps
- Ask the Tax accountant what the $rate would be
- Ask user for $income
- $address = GetAddress()
- End program

## GetAddress
## Steps
- Return {"city": "Rome"}

# Tax accountant
## Get tax rate($income)
public: true
cli_entry: true

### Steps
- If $income < 100000
  - return 15%
- Otherwise
  - return 25%
