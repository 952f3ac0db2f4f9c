# Coach
You help people to sleep.

## Main
### Triggers
- When agent starts
### Steps
- Load user info from Files
- Ask the user what $game they like
- Play($game)
- Get the user's caffeine intake
- Wait for the research agents
- End program

## Play($game)
### Steps
- Return

## GetCaffeineIntake
Asks about coffee.
public: false
meeting: true
required_attendees:
- Doctor
- Nurse

More text.
- an item

### Steps
- Return

---

# Files
Agent that reads files.

remote:
  type: mcp
  url: http://127.0.0.1:8000/mcp

---

# Lawyer
mcp:
  url: http://127.0.0.1:8001/mcp
tags: legal, law
