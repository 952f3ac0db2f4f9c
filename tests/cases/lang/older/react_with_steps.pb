# Test
## Search($topic)
execution_mode: react
public: true

Search for $topic.

### Steps
1. Look in the library
2. Look on the web
- or ask somebody

## Other
### Steps
- Search("x")
