/** Client of theanine's service. It needs `fetch` alone, so it runs in Node, Deno, Bun and browsers. */

const RETRIES = 3;
const REPEATABLE = new Set([429, 503]);

/** An error of the service, or of the way to it (status 0). */
export class TheanineError extends Error {
  constructor(problem, requestId = "") {
    super(problem.detail);
    this.name = "TheanineError";
    this.status = problem.status;
    this.code = problem.code;
    this.errors = problem.errors ?? [];
    this.requestId = requestId;
  }
}

/** Return a client of the service at a URL. */
export function connect(url, options = {}) {
  return new Memory(url, options);
}

export class Memory {
  #url;
  #options;

  constructor(url, options = {}) {
    this.#url = String(url).replace(/\/+$/, "");
    this.#options = { retries: RETRIES, ...options };
  }

  user(name, { agent } = {}) {
    return new User(this, name, agent);
  }

  whoami() {
    return this.request("GET", "/v1/whoami");
  }

  users() {
    return this.pages("/v1/users");
  }

  /** Send a request of the API, and return what it answers. */
  async request(method, path, { body, query, headers, signal } = {}) {
    const answer = await this.#send(method, path, { body, query, headers, signal });
    const text = await answer.text();
    return text ? JSON.parse(text) : null;
  }

  /** Yield the items of a list, page by page. */
  async *pages(path, query = {}) {
    let cursor;
    do {
      const page = await this.request("GET", path, { query: { ...query, cursor } });
      yield* page.items;
      cursor = page.next;
    } while (cursor);
  }

  /** Yield the events of a stream, as `{id, event, data}`, with its data as values. */
  async *stream(method, path, { body, query, headers, signal } = {}) {
    const stopped = new AbortController();
    const stop = () => stopped.abort(signal.reason);
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop);
    try {
      const given = { ...headers, Accept: "text/event-stream" };
      const options = { body, query, headers: given, signal: stopped.signal };
      const answer = await this.#send(method, path, options);
      yield* readEvents(answer.body);
    } finally {
      stopped.abort(); // who leaves the loop needs no more of it
      signal?.removeEventListener("abort", stop);
    }
  }

  async #send(method, path, { body, query, headers, signal }) {
    const { key, fetch: send = globalThis.fetch, retries } = this.#options;
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query ?? {})) {
      for (const each of [value].flat()) if (each != null) parameters.append(name, String(each));
    }
    const search = parameters.size || [...parameters].length ? `?${parameters}` : "";
    const sent = { ...(key ? { Authorization: `Bearer ${key}` } : {}), ...headers };
    if (body !== undefined) sent["Content-Type"] = "application/json";
    // A request that is sent again after a lost answer is carried out once.
    if (method !== "GET") sent["Idempotency-Key"] ??= globalThis.crypto.randomUUID();
    const request = { method, headers: sent, signal };
    if (body !== undefined) request.body = JSON.stringify(body);
    for (let tries = 0; ; tries++) {
      let answer;
      try {
        answer = await send(`${this.#url}${path}${search}`, request);
      } catch (error) {
        if (signal?.aborted) throw error;
        if (tries < retries) {
          await pause(2 ** tries / 4, signal);
          continue;
        }
        const detail = `${this.#url} can't be reached: ${error.cause?.message ?? error.message}`;
        throw new TheanineError({ status: 0, code: "service_unreachable", detail });
      }
      if (answer.ok) return answer;
      const problem = await readProblem(answer);
      const inProgress = problem.code === "in_progress";
      if (tries >= retries || !(REPEATABLE.has(answer.status) || inProgress)) {
        throw new TheanineError(problem, answer.headers.get("x-request-id") ?? "");
      }
      await pause(Number(answer.headers.get("retry-after")) || 1, signal);
    }
  }
}

export class User {
  #memory;
  #path;
  #agent;

  constructor(memory, name, agent) {
    this.#memory = memory;
    this.#path = `/v1/users/${encodeURIComponent(name)}`;
    this.#agent = agent;
  }

  thread(key) {
    return new Thread(this, key);
  }

  recall(dialogue, options = {}) {
    return this.request("POST", "/recall", { body: { dialogue, ...options } });
  }

  profile({ with_model, ...options } = {}) {
    if (with_model) return this.request("POST", "/profile", { body: options });
    return this.request("GET", "/profile", { query: options });
  }

  search(query, options = {}) {
    return this.request("POST", "/search", { body: { query, ...options } });
  }

  explain(dialogue, options = {}) {
    return this.request("POST", "/explain", { body: { dialogue, ...options } });
  }

  add(messages, options = {}) {
    const given = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
    return this.request("POST", "/messages", { body: { messages: given, ...options } });
  }

  reply(dialogue, options = {}) {
    return this.request("POST", "/reply", { body: { dialogue, ...options } });
  }

  memories(query = {}) {
    return this.pages("/memories", query);
  }

  turns(query = {}) {
    return this.pages("/turns", query);
  }

  sessions(query = {}) {
    return this.pages("/sessions", query);
  }

  timelines(query = {}) {
    return this.request("GET", "/timelines", { query });
  }

  memory(id) {
    return this.request("GET", `/memories/${id}`);
  }

  correct(id, text, options) {
    return this.request("POST", `/memories/${id}/corrections`, { body: { text, ...options } });
  }

  pin(id) {
    return this.request("PUT", `/memories/${id}/pin`);
  }

  unpin(id) {
    return this.request("DELETE", `/memories/${id}/pin`);
  }

  forget({ memory, turn, session, thread }) {
    const given = Object.entries({ memories: memory, turns: turn, sessions: session, threads: thread });
    const named = given.filter(([, id]) => id != null);
    if (named.length !== 1) throw new TypeError("name one of memory, turn, session, thread");
    const [kind, id] = named[0];
    return this.request("DELETE", `/${kind}/${encodeURIComponent(id)}`);
  }

  forgetAll() {
    return this.request("DELETE", "");
  }

  /** Yield the user's changes as they are made, also after the connection broke. */
  async *events({ lastEventId, signal } = {}) {
    let last = lastEventId;
    for (;;) {
      const headers = last ? { "Last-Event-ID": last } : {};
      try {
        const events = this.#memory.stream("GET", `${this.#path}/events`, {
          query: { agent: this.#agent },
          headers,
          signal,
        });
        for await (const { id, event, data } of events) {
          last = id ?? last;
          if (event === "change") yield { id, ...data };
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (error instanceof TheanineError) throw error;
      }
      await pause(1, signal);
    }
  }

  request(method, path, { query, ...options } = {}) {
    const given = { ...options, query: { agent: this.#agent, ...query } };
    return this.#memory.request(method, `${this.#path}${path}`, given);
  }

  pages(path, query) {
    return this.#memory.pages(`${this.#path}${path}`, { agent: this.#agent, ...query });
  }

  stream(method, path, options = {}) {
    const given = { ...options, query: { agent: this.#agent } };
    return this.#memory.stream(method, `${this.#path}${path}`, given);
  }
}

export class Thread {
  #user;
  #path;

  constructor(user, key) {
    this.#user = user;
    this.#path = `/threads/${encodeURIComponent(key)}`;
  }

  hear(content, options = {}) {
    return this.#post("hear", { content, ...options });
  }

  say(content, options = {}) {
    return this.#post("say", { content, ...options });
  }

  add(messages, options = {}) {
    return this.#post("messages", { messages, ...options });
  }

  recall(options = {}) {
    return this.#post("recall", options);
  }

  messages(query = {}) {
    return this.#user.request("GET", `${this.#path}/messages`, { query });
  }

  reply(options = {}) {
    return this.#post("reply", options);
  }

  /** Yield `{piece}` as the model writes, and at last `{reply}`. */
  async *replyStream({ signal, ...options } = {}) {
    const body = { ...options, stream: true };
    for await (const { data } of this.#user.stream("POST", `${this.#path}/reply`, { body, signal })) {
      if (data.problem) throw new TheanineError(data.problem);
      yield data;
    }
  }

  end(options = {}) {
    return this.#post("end", options);
  }

  #post(name, body) {
    return this.#user.request("POST", `${this.#path}/${name}`, { body });
  }
}

async function readProblem(answer) {
  const text = await answer.text();
  try {
    const problem = JSON.parse(text);
    if (problem && typeof problem.detail === "string") return problem;
  } catch {
    // not from the service, but from what is before it
  }
  return { status: answer.status, code: "refused", detail: text || answer.statusText };
}

async function* readEvents(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const event = readEvent(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.releaseLock();
  }
}

function readEvent(block) {
  const event = { id: undefined, event: "message", data: undefined };
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (name === "data") data.push(value);
    else if (name === "id" || name === "event") event[name] = value;
  }
  if (!data.length) return null; // a comment that keeps the connection alive
  event.data = JSON.parse(data.join("\n"));
  return event;
}

function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, 1000 * seconds);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
  });
}
