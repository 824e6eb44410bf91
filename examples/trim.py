"""Fit a long chat into 4,000 tokens and say what became of each message.

python examples/trim.py
"""

import json
from pathlib import Path

from eunoe import ContextOrchestrator, Conversation, TokenBudget

messages = json.loads(Path(__file__).with_name("long_chat.json").read_text(encoding="utf-8"))

orchestrator = ContextOrchestrator(budget=TokenBudget(max_tokens=4000))
result = orchestrator.process_sync(Conversation.from_openai_messages(messages), model_id="gpt-4o")

to_send = result.conversation.to_openai_messages()  # goes to the model
print(f"{len(messages)} messages in the chat, {len(to_send)} sent")
for line in result.report.explain().split("\n")[:5]:
    print(line)
