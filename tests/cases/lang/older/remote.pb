# Main
## Start
### Triggers
- At the beginning
### Steps
- $weather = Weather.GetForecast("Rome")
- Tell the user the $weather

# Weather
remote:
  type: mcp
  url: http://localhost:8088/mcp
  transport: streamable-http
  timeout: 10

Gives the weather.

# Tools:MCP
remote:
  url: stdio://tool
