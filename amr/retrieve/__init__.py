"""From a question to evidence and to an answer.

- Evidence: `query` → `anchors`, `navigate`, `relevance`, `verify`, `ranking`; `scales` are the windows around nodes,
  `event_scales` those of events; `evidence`, `json_out` and `explain` show what was found.
- Chats: `chat_ranking` → `chat_lanes`, `chat_features`, `chat_words`, `concepts`, `named_times`; `chat_relevance`,
  `chat_answer`.
- Reading a question: `question`, `clauses`, `moments`, `times`, `wanted`, `words`, `naming`.
- Answers of events: `ask` → `last_known`, `history`, `counting`, `sequence`, `remarks`, `who`, `things`, `arrivals`, …;
  `wording` and `extract` put them into words. `by_model` is what models do of all this.
"""
