# Hello
## HelloWorld() -> None
### Trigger
- At the beginning of the program

### Steps
- Tell user "Hello"
- Exit program
