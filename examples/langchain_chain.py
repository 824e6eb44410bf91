"""Put eunoe before a chat model in a LangChain chain.

pip install 'eunoe[langchain]' and then: python examples/langchain_chain.py

The model is a stand-in that needs no network: it answers with the number of messages it was sent.
Put your own in its place.
"""

import json
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.runnables import RunnableLambda

from eunoe_langchain import HistoryOptimizer

path = Path(__file__).with_name("long_chat.json")
history = convert_to_messages(json.loads(path.read_text(encoding="utf-8")))


def count_messages(messages: list[BaseMessage]) -> AIMessage:
    return AIMessage(f"I was sent {len(messages)} messages.")


model = RunnableLambda(count_messages)
chain = HistoryOptimizer(max_tokens=4000) | model

print(f"{len(history)} messages in the history")
print(chain.invoke(history).content)
