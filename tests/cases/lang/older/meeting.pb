# Host
## Meet
meeting: true
required_attendees: [Guest]

### Triggers
- At the beginning
### Steps
- Invite the guest with InviteToMeeting("m", ["Guest"])
- InviteToMeeting("m", ["Guest"])
- Wait for the meeting to end

# Guest
## Attend
meeting: true
public: true
### Steps
- Say something nice
