/**
 * Where views read memories from: the service, or the data inside a page that was written to one
 * file (`theanine timeline --html`). Both have the same functions. `who` is `{ user, agent }`.
 */
import { followEvents, get, getAll, getLines, send, userPath } from "./api.js";
import { joinGraph } from "./graph.js";
import { createStore } from "./store.js";

export const service = {
  /** Whether this is a file: then nothing can be changed, asked or loaded. */
  isFile: false,
  whoami: () => get("/v1/whoami"),
  users: () => getAll("/v1/users"),
  /** The sessions of a user that wait to be remembered. */
  pending: (who) => get(userPath(who, "pending")),
  methods: () => get("/v1/methods"),
  /**
   * All memories, links, ends and topics of a user, of a method or the service's own. `onPart` gets
   * those that have the most to tell, while the others come.
   */
  graph: async (who, method, onPart) => {
    const parts = [];
    for await (const part of getLines(userPath(who, "graph"), { method })) {
      if (parts.length === 1) onPart?.(parts[0]);
      parts.push(part);
    }
    return joinGraph(parts);
  },
  /** A memory with its marks and links. */
  memory: (who, id) => get(userPath(who, `memories/${id}`)),
  /** What a memory was before, and what it became. */
  versions: (who, id) => get(userPath(who, `memories/${id}/versions`)),
  /** Turns by their ids. */
  turns: async (who, ids) => (ids.length ? (await get(userPath(who, "turns"), { ids })).items : []),
  /** What is known of a user. */
  profile: (who) => get(userPath(who, "profile")),
  /** The months that have conversations, `{ month, conversations }`, the newest first. */
  months: (who) => get(userPath(who, "conversations/months")),
  /** A page of conversations, the newest first, from a month on; `bounds` are `{ month, limit, cursor }`. */
  conversations: (who, bounds) => get(userPath(who, "conversations"), bounds),
  /** A conversation, and where its memories were said. */
  conversation: (who, session) => get(userPath(who, `conversations/${session}`)),
  /** Some turns of a session from one on, or, with `newest_first`, before it. */
  sessionTurns: async (who, session, bounds) => (await get(userPath(who, "turns"), { session, ...bounds })).items,
  /** What a search finds, `{ hits, found }`: `found` counts also what is beyond the limit. */
  search: async (who, wanted, options) => {
    const response = await send("POST", userPath(who, "search"), { body: wanted, ...options });
    return { hits: await response.json(), found: Number(response.headers.get("Theanine-Found")) };
  },
  /** The events of a user that come from now on, or after the one with an id. */
  events: (who, lastId, signal) => followEvents(userPath(who, "events"), lastId, { signal }),
  /** Calls of language models, by session, step and model. */
  costs: (who) => get(userPath(who, "costs")),
};

/** The source of this page. */
export const source = createStore(service);
