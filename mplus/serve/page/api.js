// The HTTP interface of docs/server.md, one function for each thing the page asks of it.

import { events } from "./sse.js";

export class ApiError extends Error {
  constructor(message, { status = 0, code = null, param = null } = {}) {
    super(message);
    Object.assign(this, { status, code, param });
  }
}

const KEY = "mplus-key"; // sessionStorage: gone when the tab is closed
let askForKey = () => Promise.resolve(null);
let asking = null; // requests that fail together ask once

export function onKeyNeeded(ask) {
  askForKey = ask;
}

async function renewKey(used) {
  if (sessionStorage.getItem(KEY) !== used) return true; // another request has asked meanwhile
  asking ??= askForKey(used !== null).finally(() => {
    asking = null;
  });
  const key = await asking;
  if (key) sessionStorage.setItem(KEY, key);
  return Boolean(key);
}

async function call(method, path, { json, body, headers = {}, signal } = {}) {
  for (;;) {
    const key = sessionStorage.getItem(KEY);
    const sent = { ...headers };
    if (json !== undefined) sent["Content-Type"] = "application/json";
    if (key !== null) sent.Authorization = `Bearer ${key}`;
    let response;
    try {
      response = await fetch(path, {
        method,
        headers: sent,
        body: json === undefined ? body : JSON.stringify(json),
        signal,
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError("The server cannot be reached. Is mplus serve still running?");
    }
    if (response.ok) return response;
    if (response.status === 401 && (await renewKey(key))) continue;
    throw await failure(response);
  }
}

async function failure(response) {
  const error = (await response.json().catch(() => ({}))).error ?? {};
  let message = error.message ?? `The server answered ${response.status} and said nothing more.`;
  if (response.status === 401) message = "The server wants an API key.";
  if (response.status === 429) {
    const wait = response.headers.get("Retry-After");
    message = `The server is busy. Try again ${wait ? `in ${wait} s` : "in a moment"}.`;
  }
  return new ApiError(message, { status: response.status, code: error.code, param: error.param });
}

const get = async (path, options) => (await call("GET", path, options)).json();
const post = async (path, json, options) => (await call("POST", path, { ...options, json })).json();
const at = (name, rest = "") => `v1/memories/${encodeURIComponent(name)}${rest}`;
const list = async (path) => (await get(path)).data;

export const memories = () => list("v1/memories");
export const memory = (name) => get(at(name));
export const createMemory = (name) => post("v1/memories", { name });
export const deleteMemory = async (name) => (await call("DELETE", at(name))).json();
export const turns = (name) => list(at(name, "/turns"));
export const journal = (name) => list(at(name, "/events"));
export const documents = (name) => list(at(name, "/documents"));
export const document = (name, id) => get(at(name, `/documents/${id}`));
export const search = (name, query, limit = 8) => post(at(name, "/search"), { query, limit });
export const undo = (name, n) => post(at(name, "/undo"), { n });
export const fork = (name, to) => post(at(name, "/fork"), { name: to });
export const timeline = (name, layers) => get(at(name, `/timeline?layers=${layers}`));
export const ask = (name, question, memory, max_tokens, signal) =>
  post(at(name, "/ask"), { question, memory, max_tokens }, { signal });

export async function forget(name, id, { exact, dryRun }) {
  return (await call("DELETE", at(name, `/documents/${id}?exact=${exact}&dry_run=${dryRun}`))).json();
}

// Reads a file, or {name, text}. onProgress gets {done, total} in tokens.
export async function read(name, source, { onProgress, signal }) {
  const headers = { Accept: "text/event-stream" };
  // A file is sent as bytes whatever it is: one that happens to be JSON must not be taken for a request.
  const response = source instanceof Blob
    ? await call("POST", at(name, `/documents?name=${encodeURIComponent(source.name)}`), {
      headers: { ...headers, "Content-Type": "application/octet-stream" },
      body: source,
      signal,
    })
    : await call("POST", at(name, "/documents"), { headers, json: source, signal });
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) return response.json();
  for await (const { event, data } of events(response)) {
    const value = JSON.parse(data);
    if (event === "progress") onProgress(value);
    else if (event === "done") return value;
    else if (event === "error") throw streamed(value);
  }
  throw new ApiError(
    "The connection ended before the text was read to its end. Drop it again: it goes on where it stopped.",
  );
}

const streamed = (value) =>
  new ApiError((value.error ?? value).message ?? "The server gave up without a reason.", value.error ?? value);

// One answer. onText gets each piece; the result is {memory, finish}.
export async function chat({ memory, messages, maxTokens, vary, onText, signal }) {
  const json = { model: "mplus", memory, messages, stream: true, max_tokens: maxTokens };
  // Asked for the same again, the likeliest answer would be the same again.
  if (vary) Object.assign(json, { temperature: 0.7, seed: Math.floor(Math.random() * 2 ** 31) });
  const response = await call("POST", "v1/chat/completions", { json, signal });
  const result = { memory: null, finish: null };
  for await (const { event, data } of events(response)) {
    if (data === "[DONE]") return result;
    const value = JSON.parse(data);
    if (event === "error" || value.error) throw streamed(value);
    const choice = value.choices?.[0];
    if (choice?.delta?.content) onText(choice.delta.content);
    if (choice?.finish_reason) result.finish = choice.finish_reason;
    if (value.memory) result.memory = value.memory;
  }
  throw new ApiError("The connection ended in the middle of the answer.");
}
