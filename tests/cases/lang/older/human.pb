# Assistant
## Main
### Triggers
- At the beginning
### Steps
- Ask Manager for approval
- End program

# Manager:Human
name: Alice
delivery_channel: streaming
meeting_notifications: targeted

# Helper:AI
## Help
public: true
### Steps
- Return "help"
