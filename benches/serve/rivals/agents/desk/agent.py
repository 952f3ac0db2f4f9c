"""An agent whose model answers at once, without a network."""
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types


class Canned(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="It is packed. " * 20)]))


root_agent = LlmAgent(name="desk", model=Canned(model="canned"), instruction="Say where the order is.")
