// Server-sent events out of a fetch body. EventSource cannot be used: it can neither POST nor send a key.

// Yields {event, data} for each event of the response; ends with the stream.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      rest += value;
      const blocks = rest.split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
    const last = parse(rest);
    if (last) yield last;
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parse(block) {
  let event = "message";
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue; // a comment, or nothing
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (line.slice(0, colon) === "event") event = value;
    else if (line.slice(0, colon) === "data") data.push(value);
  }
  return data.length ? { event, data: data.join("\n") } : null;
}
