---
title: Greeter
application: web
---
# Greeter
This agent greets the user.

## Greet
### Triggers
- At the beginning of the program
### Steps
- Greet the user and ask for their $name
- Say hello to $name
- End program
