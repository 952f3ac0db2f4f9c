# Example program

## Main
### Triggers
- T1:BGN At the beginning
- T2:BGN When you come to life
### Steps
- $x = 10
- LoadAccount
- $x = $x * 2
- Tell user balance

## TooBig
### Triggers
- T1:CND When $x > 15
### Steps
- Tell user $x is too big

## AfterLoad
### Triggers
- T1:EVT After calling LoadAccount
- T2:EVT When payment is processed
### Steps
- Tell user account loaded

## Validation($pin)
### Trigger
- When user provides a PIN
### Steps
- Return $pin

## Handoff
### Trigger
- When user is extremely frustrated
- When user is asking for a human agent
- When the user asks to check their account balance
- When you need to compute square root
- T5:CND When user provides their email address
- When user provides order id
### Steps
- Return

## LoadAccount
### Steps
- Return {"balance": 8999}
