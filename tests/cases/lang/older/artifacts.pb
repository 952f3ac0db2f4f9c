# Test
## Main
### Triggers
- At the beginning
### Steps
- $text = Loadfile("report.txt")
- SaveArtifact("report", "A summary", $text)
- $again = LoadArtifact("report")
- SaveArtifact("my report.txt", "A summary", $text)
- Load artifact $report
- SendMessage("user", "done")
- CreateAgent("Other")
- EndProgram()
