# Loose
## Main
### Triggers
- At the beginning

### Steps
- Initialize counter to 0 as a local variable
- set $count to 0
- ask user for a number and store in $increment
- counter is counter + $increment
- set $count to $count + $increment
- say counter is {counter} and count is {$count}
- final is Process(counter, $count)
- While the meeting is active, facilitate the discussion
- When asked about a dish
  - Propose something
- For each dish, specify:
  - the name
- Run test playbook
- Return False

## Process(a, b)
### Steps
- local_sum is a + b
- return local_sum

## Test playbook
### Actions
- process(path)
