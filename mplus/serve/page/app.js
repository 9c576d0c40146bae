// The page of `mplus serve`. No build step and no framework: these modules are what the browser runs.
//
//   left     memories, sources, reading (texts on their way in)
//   middle   chat, composer, answering, edit_turn, branching, markdown
//   right    why, passages, heatmap, seen
//   memory   memory_view, timeline, layer_map, history, forks, compare
//   all      api and sse (HTTP), state, layout, dom, format, dialogs, source_dialog, forget

import * as api from "./api.js";
import * as chat from "./chat.js";
import * as compare from "./compare.js";
import * as composer from "./composer.js";
import { askKey } from "./dialogs.js";
import { $, showError } from "./dom.js";
import * as layout from "./layout.js";
import * as memories from "./memories.js";
import * as memoryView from "./memory_view.js";
import * as reading from "./reading.js";
import * as sources from "./sources.js";
import { refreshMemories, state, switchTo } from "./state.js";
import * as why from "./why.js";

api.onKeyNeeded(askKey);
for (const part of [layout, memories, sources, reading, composer, chat, why, memoryView, compare]) part.start();

async function begin() {
  const asked = layout.fromAddress();
  layout.go(asked.view);
  try {
    await refreshMemories();
    const newest = [...state.memories].sort((a, b) => b.changed_at - a.changed_at)[0];
    await switchTo(asked.memory ?? newest?.name ?? "default");
    document.body.dataset.ready = "true";
  } catch (error) {
    showError($("#chat-error"), error, begin);
  }
}

begin();
