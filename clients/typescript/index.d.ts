import type * as api from "./api.js";

export type * as api from "./api.js";

export interface Options {
  /** A key of `theanine keys create`; a service with `--dev` needs none. */
  key?: string;
  /** In place of the global one, such as one with a proxy. */
  fetch?: typeof fetch;
  /** How often a request that the service refuses for the moment, or whose answer is lost, is sent again. */
  retries?: number;
}

export interface RequestOptions {
  body?: unknown;
  query?: Record<string, unknown>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** A text, or messages as OpenAI's and Anthropic's APIs have them, the newest last. */
export type Dialogue = string | Array<Record<string, unknown>>;
type Content = string | Array<Record<string, unknown>>;

/** Return a client of the service at a URL. */
export function connect(url: string | URL, options?: Options): Memory;

export class Memory {
  constructor(url: string | URL, options?: Options);
  /** The memory of a person, and of the agent that talks with them (default: `default`). */
  user(name: string, options?: { agent?: string }): User;
  whoami(): Promise<api.Principal>;
  users(): AsyncGenerator<api.Scope>;
  /** Send a request of the API, and return what it answers. Writes are carried out once, however often they are sent. */
  request<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<T>;
  pages<T = unknown>(path: string, query?: Record<string, unknown>): AsyncGenerator<T>;
  stream<T = unknown>(method: string, path: string, options?: RequestOptions): AsyncGenerator<Event<T>>;
}

export interface Event<T> {
  id?: string;
  event: string;
  data: T;
}

export class User {
  thread(key: string): Thread;
  /** Return what matters for a question or a dialogue, with its sources. */
  recall(dialogue: Dialogue, options?: Omit<api.Question, "dialogue">): Promise<api.Recalled>;
  /** Return what is known of the user, with sources: in their own words, or as the service's model writes it. */
  profile(options?: api.ProfileRequest & { with_model?: boolean }): Promise<api.Profile>;
  /** Return the turns and memories that match best, each with its score. */
  search(query: string, options?: Omit<api.Search, "query">): Promise<api.SearchHit[]>;
  /** Return how a recall comes to its result. */
  explain(dialogue: Dialogue, options?: Omit<api.Explained, "dialogue">): Promise<api.Explanation>;
  /** Log messages as a whole session that ends at once, and remember it. */
  add(messages: Dialogue, options?: Omit<api.NewMessages, "messages">): Promise<api.AddReport>;
  /** Let the service's model reply to a dialogue, of which nothing is logged. */
  reply(dialogue: Dialogue, options?: Omit<api.DialogueReply, "dialogue">): Promise<api.Replied>;
  memories(query?: { pinned?: boolean; since?: string; until?: string; due?: boolean }): AsyncGenerator<api.Memory>;
  turns(query?: { thread?: string; session?: number; ids?: number[]; due?: boolean }): AsyncGenerator<api.Turn>;
  sessions(query?: Record<string, unknown>): AsyncGenerator<api.Session>;
  timelines(query?: { memory?: number }): Promise<api.Timeline[]>;
  memory(id: number): Promise<api.MemoryDetail>;
  /** Replace what a memory says; the old one stays, marked. */
  correct(id: number, text: string, options?: Omit<api.Correction, "text">): Promise<api.Memory>;
  /** Have a memory in every recollection. */
  pin(id: number): Promise<unknown>;
  unpin(id: number): Promise<unknown>;
  /** Erase one thing, with all that was made from it, and return the receipt. */
  forget(
    one: { memory: number } | { turn: number } | { session: number } | { thread: string },
  ): Promise<api.ForgetReport>;
  /** Erase the user. */
  forgetAll(): Promise<api.ForgetReport>;
  /** Yield the user's changes as they are made; goes on by itself after the connection broke. */
  events(options?: { lastEventId?: string; signal?: AbortSignal }): AsyncGenerator<Change>;
  request<T = unknown>(method: string, path: string, options?: RequestOptions): Promise<T>;
}

/** The first and last numbers of what is new, and whether something was hidden or forgotten. */
export interface Change {
  id: string;
  sessions?: [number, number];
  turns?: [number, number];
  memories?: [number, number];
  marks?: [number, number];
  forgotten: boolean;
}

export class Thread {
  /** Log what the user says; it is on disk when the promise is kept. */
  hear(content: Content, options?: Omit<api.Said, "content">): Promise<api.Turn>;
  /** Log what the assistant says. */
  say(content: Content, options?: Omit<api.SaidByAssistant, "content">): Promise<api.Turn>;
  /** Log messages of the thread; those that it has already are left out. */
  add(messages: Array<Record<string, unknown>>, options?: Omit<api.ThreadMessages, "messages">): Promise<api.AddReport>;
  /** Return what matters for the dialogue so far, less what `messages` shows. */
  recall(options?: api.ThreadRecall): Promise<api.Recalled>;
  /** The newest turns as messages for a model. */
  messages(query?: { format?: string; last?: number; window?: number }): Promise<Array<Record<string, unknown>>>;
  /** Recall, let the service's model write the next turn, and log it. */
  reply(options?: Omit<api.ThreadReply, "stream">): Promise<api.Replied>;
  replyStream(
    options?: Omit<api.ThreadReply, "stream"> & { signal?: AbortSignal },
  ): AsyncGenerator<{ piece: string; reply?: undefined } | { reply: api.Replied; piece?: undefined }>;
  /** End the open session, and remember it. */
  end(options?: api.SessionEnd): Promise<api.RememberReport[]>;
}

/** An error of the service (RFC 9457), or of the way to it, whose status is 0. */
export class TheanineError extends Error {
  status: number;
  /** Such as `not_found`, `bad_input` or `service_unreachable`. */
  code: string;
  errors: api.FieldProblem[];
  requestId: string;
}
