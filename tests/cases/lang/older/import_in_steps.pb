# Test
!import ./parts/config.txt

## Main Workflow
### Triggers
- At the beginning of the program

### Steps
- Say "Starting"
!import ./parts/steps.txt
- Say "Complete"
- End program
