/**
 * Where views read memories from: the service, or the data inside a page that was written to one
 * file (`theanine timeline --html`). Both have the same functions. `who` is `{ user, agent }`.
 */
import { get, getAll, post, userPath } from "./api.js";
import { createStore } from "./store.js";

export const service = {
  /** Whether this is a file: then nothing can be changed, asked or loaded. */
  isFile: false,
  whoami: () => get("/v1/whoami"),
  users: () => getAll("/v1/users"),
  /** The sessions of a user that wait to be remembered. */
  pending: (who) => get(userPath(who, "pending")),
  methods: () => get("/v1/methods"),
  /** All memories, links, ends and topics of a user, of a method or the service's own. */
  graph: (who, method) => get(userPath(who, "graph"), { method }),
  /** A memory with its marks and links. */
  memory: (who, id) => get(userPath(who, `memories/${id}`)),
  /** What a memory was before, and what it became. */
  versions: (who, id) => get(userPath(who, `memories/${id}/versions`)),
  /** Turns by their ids. */
  turns: async (who, ids) => (ids.length ? (await get(userPath(who, "turns"), { ids })).items : []),
  /** The turns of a session, in order. */
  sessionTurns: (who, session) => getAll(userPath(who, "turns"), { session }),
  /** Calls of language models, by session, step and model. */
  costs: (who) => get(userPath(who, "costs")),
  /** What a recall returns for a question; `bounds` as of the API. */
  recall: (who, question, bounds = {}) => post(userPath(who, "recall"), { dialogue: question, ...bounds }),
};

/** The source of this page. */
export const source = createStore(service);
