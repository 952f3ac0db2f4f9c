# Test
## Raw
execution_mode: raw
public: true

Translate {$text} to French.

## React
execution_mode: react
public: true

Find the answer.
