/**
 * Requests to the service. All data goes through here, by the same routes and walls that any
 * application has; the cookie of the sign-in stands for its key.
 */

/** Why a request failed, as the service says it (RFC 9457), or that it could not be reached. */
export class Problem extends Error {
  constructor({ status = 0, code = "unreachable", detail = "", retryAfter = 0 }) {
    super(detail || code);
    this.name = "Problem";
    Object.assign(this, { status, code, detail, retryAfter });
  }
}

const TRIES = 3;
const wait = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

function address(path, query) {
  const given = Object.entries(query ?? {})
    .flatMap(([name, value]) => (Array.isArray(value) ? value.map((each) => [name, each]) : [[name, value]]))
    .filter(([, value]) => value != null && value !== "");
  const text = new URLSearchParams(given).toString();
  return text ? `${path}${path.includes("?") ? "&" : "?"}${text}` : path;
}

async function readProblem(response) {
  const retryAfter = Number(response.headers.get("Retry-After")) || 0;
  let detail = response.statusText;
  let code = `http_${response.status}`;
  try {
    ({ detail, code } = await response.json());
  } catch {
    // a proxy in between answered with something else
  }
  return new Problem({ status: response.status, code, detail, retryAfter });
}

/**
 * Send a request and return the response. Reading is tried again where the service asks for it
 * or does not answer; writing is not, since it might be done twice. Throws Problem.
 *
 * @param {string} method
 * @param {string} path such as `/v1/users`
 * @param {{query?: object, body?: any, headers?: object, signal?: AbortSignal}} options a body
 *   that is a Blob is sent as it is, anything else as JSON.
 */
export async function send(method, path, { query, body, headers = {}, signal } = {}) {
  const isFile = body instanceof Blob;
  const options = {
    method,
    signal,
    credentials: "same-origin",
    headers: {
      "Theanine-Page": "1",
      ...(body === undefined || isFile ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    body: body === undefined || isFile ? body : JSON.stringify(body),
  };
  for (let attempt = 1; ; attempt++) {
    let problem;
    try {
      const response = await fetch(address(path, query), options);
      if (response.ok) return response;
      problem = await readProblem(response);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      problem = new Problem({ detail: error.message });
    }
    const mayRepeat = method === "GET" && [0, 429, 503].includes(problem.status);
    if (!mayRepeat || attempt === TRIES || problem.retryAfter > 10) throw problem;
    await wait(problem.retryAfter || attempt);
  }
}

const read = async (response) => (response.status === 204 ? null : response.json());

/** Return the answer to a GET. */
export const get = async (path, query, options) => read(await send("GET", path, { query, ...options }));
/** Return the answer to a POST of JSON. */
export const post = async (path, body, options) => read(await send("POST", path, { body, ...options }));
/** Return the answer to a PUT. */
export const put = async (path, body, options) => read(await send("PUT", path, { body, ...options }));
/** Return the answer to a PATCH. */
export const patch = async (path, body, options) => read(await send("PATCH", path, { body, ...options }));
/** Return the answer to a DELETE. */
export const remove = async (path, query, options) => read(await send("DELETE", path, { query, ...options }));

/** Return all items of a list that comes in pages. */
export async function getAll(path, query, options) {
  const items = [];
  let cursor;
  do {
    const page = await get(path, { limit: 500, ...query, cursor }, options);
    items.push(...page.items);
    cursor = page.next;
  } while (cursor);
  return items;
}

/** Yield the pieces of an answer, each as soon as what ends it has come. */
async function* readPieces(response, end) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const pieces = (rest + value).split(end);
    rest = pieces.pop();
    yield* pieces;
  }
}

/** Yield the objects of an answer that has one a line. */
export async function* getLines(path, query, options) {
  const response = await send("GET", path, { query, headers: { Accept: "application/x-ndjson" }, ...options });
  for await (const line of readPieces(response, "\n")) yield JSON.parse(line);
}

/** Yield the events of a stream that answers a POST: the parsed `data:` of each. */
export async function* postForEvents(path, body, options) {
  const response = await send("POST", path, { body, ...options });
  for await (const event of readPieces(response, "\n\n")) {
    if (event.startsWith("data:")) yield JSON.parse(event.slice(5));
  }
}

/** Yield the events of a stream that goes on, `{ id, event, data }`, after the one with an id. */
export async function* followEvents(path, lastId, options) {
  const response = await send("GET", path, { headers: lastId ? { "Last-Event-ID": lastId } : {}, ...options });
  for await (const piece of readPieces(response, "\n\n")) {
    const event = Object.fromEntries(piece.split("\n").map((line) => line.split(/: (.*)/s, 2)));
    if (event.data) yield { ...event, data: JSON.parse(event.data) };
  }
}

/** Return the path below a user: `userPath({ user: "ana", agent: "default" }, "recall")`. */
export function userPath({ user, agent }, rest = "") {
  const path = `/v1/users/${encodeURIComponent(user)}${rest && `/${rest}`}`;
  return address(path, { agent: agent === "default" ? "" : agent });
}
