# Test
Today is {date.today()}.

## Review($path)
Here is the file:
{Loadfile($path, inline=True)}
and {", ".join(["a", "b"])}

### Triggers
- At the beginning
### Steps
- Tell the user what {$path} says
- Say("user", f"It is {x}")
- Say("user", "Good bye, {$path}")
- Say("user", "Code {x}")
