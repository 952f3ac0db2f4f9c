"""A graph whose only node answers at once, without a network."""
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph


async def answer(state: MessagesState):
    return {"messages": [AIMessage("It is packed. " * 20)]}


graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END).compile()
