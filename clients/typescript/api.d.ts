// Written by generate.py from the OpenAPI document of the service: don't edit it.

/** Whether the memory was not accepted before. */
export interface Accepted {
  changed: boolean;
}

/** The result of adding messages. Attributes: session: number of the session that they are in; None if a key has no session yet. turns: the turns that were logged; a message with calls of tools can be several. known: how many turns were left out because the session, or one before it under the same key, has them already. left_out: these turns, as they were sent. repaired: how many turns had a NUL or half of a character, which no store holds: each is U+FFFD in the log. */
export interface AddReport {
  session: number | null;
  turns: Array<Turn>;
  known: number;
  left_out: Array<UtteranceOutput>;
  repaired: number;
}

/** A key as it is stored, without its secret. Attributes: id: the public part of the key. name: its purpose, as given by its creator. tenant: the tenant whose data it gives access to. user: the only user whose data it gives access to; None for all of the tenant. agent: the only agent whose data it gives access to; None for all of the tenant. rights: see :data:`Right`, in their order. rate: requests a minute; None for no limit of its own. created_at: when it was made, aware. expires_at: when it expires, aware; None for never. revoked_at: when it was revoked, aware; None if it wasn't. maker: id of the key that made it; None if the operator did. */
export interface ApiKey {
  id: string;
  name: string;
  tenant: string;
  user: string | null;
  agent: string | null;
  rights: Array<"read" | "write" | "reply" | "administer">;
  rate: number | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  maker: string | null;
}

/** One request. Attributes: id: sorts by time. at: when it was answered, aware. key: id of the key; empty without one. user: pseudonym of the user whose data it was about; None if it was about no one user. agent: the user's agent; None with ``user``. request: method and path of the route. status: status of the answer. request_id: the answer's ``X-Request-Id``. */
export interface AuditEntry {
  id: string;
  at: string;
  tenant: string;
  key: string;
  user: string | null;
  agent: string | null;
  action: "read" | "change" | "erase";
  request: string;
  status: number;
  request_id: string;
}

/** A call whose reply could not be used, and why. */
export interface CallError {
  at: string;
  scope: Scope;
  session: number | null;
  step: string;
  model: string;
  error: string;
}

/** Whether the session was not cancelled before. */
export interface Cancelled {
  changed: boolean;
}

/** Settings to change; what is left out stays, null unsets. */
export interface ChangedSettings {
  time_zone?: string | null;
  retention?: string | null;
}

/** Settings to change; what is left out stays, null unsets. */
export interface ChangedTenantSettings {
  retention?: string | null;
}

/** Estimated cost of remembering by a method; 0 without a model. */
export interface ComparisonEstimate {
  method: string;
  model: string;
  calls: number;
  tokens: number;
  cost: number | null;
  seconds: number;
}

/** A session as a person lists it. Attributes: session, thread, started_at, dated, turn_count: as of :class:`theanine.Session`. title: what its source calls it; empty if it doesn't. begins: the first words of the user, or of who spoke first. speakers: who spoke, in the order of their names. remembered: whether its memories were made. */
export interface Conversation {
  session: number;
  thread: string | null;
  title: string;
  begins: string;
  speakers: Array<string>;
  started_at: string;
  dated: boolean;
  turn_count: number;
  remembered: boolean;
}

/** A conversation, and where its memories were said; its turns are in `GET …/turns`. */
export interface ConversationDetail {
  conversation: Conversation;
  places: Array<Place>;
}

/** A correction, and when it ends. */
export interface Correction {
  text: string;
  /** From then on it is not shown any more, and soon erased. */
  expires?: string | null;
  /** From then on it is marked as to be verified. */
  verify_by?: string | null;
}

/** Usage of one step, model and session, summed over the journal. Attributes: session: the session that was being remembered, None for calls made for a reply. */
export interface CostLine {
  calls: number;
  replayed: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
  seconds: number;
  truncated: number;
  scope: Scope;
  session: number | null;
  step: string;
  model: string;
}

/** A new key; its token is shown only here. */
export interface CreatedKey {
  key: ApiKey;
  token: string;
}

/** A message to a webhook. Attributes: id: the same in every try; sorts by time. kind: see :data:`WebhookKind`, or ``webhook.test``. tries: how often it was sent. status: status of the last answer; None without one. error: why the last try failed; empty if it didn't. tried_at: when it was sent last; None if it was not yet. next_try_at: when it is sent again at the earliest; None for at once or never. */
export interface Delivery {
  id: string;
  kind: string;
  state: "waiting" | "delivered" | "failed";
  tries: number;
  status: number | null;
  error: string;
  created_at: string;
  tried_at: string | null;
  next_try_at: string | null;
}

/** A reply to a dialogue, which is not logged. */
export interface DialogueReply {
  dialogue?: string | Array<Record<string, unknown>>;
  /** Turns, instead of a dialogue. */
  utterances?: Array<UtteranceInput>;
  min_relevance?: number | null;
  since?: string | null;
  until?: string | null;
  /** Use only what was known at this time. */
  as_of?: string | null;
  /** A filter by metadata, such as `channel=web and priority>=2`, or the same as an object. */
  where?: Record<string, unknown> | string | null;
  /** Maximum tokens. */
  budget?: number | null;
  /** Maximum parts. */
  limit?: number | null;
  /** Put what is known of the user first, in at most 300 tokens. Default: `false`. */
  profile?: boolean;
  /** Seconds within which to answer, by doing less if need be; `notes` say what was left out. Less than 0.1 counts as 0.1. Default: as the service is set. */
  deadline?: number | null;
  system?: string;
  persona?: string;
  temperature?: number | null;
  max_tokens?: number | null;
  stop?: Array<string>;
  tools?: Array<Record<string, unknown>>;
  prompt?: "chat" | "transcript" | null;
  speaker?: string;
}

/** Why a memory is doubtful. Attributes: other: id of the memory that it is linked with; None for a repaired one. relation: that of the link; None for a repaired one. chance: probability that the relation is right, 0 to 1; None if unknown. explanation: of the link. */
export interface Doubt {
  kind: "contradiction" | "unsure" | "repaired";
  other: number | null;
  relation: Relation | null;
  chance: number | null;
  explanation: string;
}

/** The id of a doubtful memory, and the reasons, strongest first. */
export interface DoubtfulMemory {
  memory: number;
  doubts: Array<Doubt>;
}

/** A person, place or thing that the user speaks of. Attributes: name: the name that is used most. kind: ``person``, ``animal``, ``place``, ``thing`` or, where the words tell none, ``unknown``. relation: what they are to the user, such as ``sister``; empty if that was never said. aliases: other names. introduced: the words that tell who or what it is, or the first that name it. mentions: number of the user's turns that name it. turns: their ids, the newest first. last_at: when it was mentioned last. */
export interface Entity {
  name: string;
  kind: "person" | "animal" | "place" | "thing" | "unknown";
  relation: string;
  aliases: Array<string>;
  introduced: Quote;
  mentions: number;
  turns: Array<number>;
  last_at: string;
}

/** Whether ``theanine-bench`` is installed, where runs are looked for, and those found. */
export interface Evaluation {
  installed: boolean;
  folder: string;
  runs: Array<Run>;
}

/** A question, a dialogue, or a past reply. */
export interface Explained {
  dialogue?: string | Array<Record<string, unknown>>;
  /** Turns, instead of a dialogue. */
  utterances?: Array<UtteranceInput>;
  min_relevance?: number | null;
  since?: string | null;
  until?: string | null;
  /** Use only what was known at this time. */
  as_of?: string | null;
  /** A filter by metadata, such as `channel=web and priority>=2`, or the same as an object. */
  where?: Record<string, unknown> | string | null;
  /** Maximum tokens. */
  budget?: number | null;
  /** Maximum parts. */
  limit?: number | null;
  /** Put what is known of the user first, in at most 300 tokens. Default: `false`. */
  profile?: boolean;
  /** Id of a past reply to explain, instead of a dialogue. */
  reply?: number | null;
  /** A method other than the service's. */
  method?: string | null;
}

/** A passage of a turn, or a memory, that a recall considered. Attributes: turn, memory: the id of its turn, or of the memory; the other is None. session, speaker, at, dated: as of the turn or memory; a memory may have several speakers. text: the passage or the memory's text. scores: by stage, in the order of :attr:`Explanation.stages`; the scale is that of each stage. Candidates that a stage brought in have no score of earlier ones. relevance: probability that it is evidence for the query, 0 to 1; None where the method does not estimate it. outcome: whether it was returned, or why not; see :data:`Outcome`. part: index of the recollection's part that has it, or None. */
export interface ExplainedCandidate {
  turn: number | null;
  memory: number | null;
  session: number;
  speaker: string;
  at: string;
  dated: boolean;
  text: string;
  scores: Record<string, number>;
  relevance: number | null;
  outcome: "returned" | "irrelevant" | "echo" | "corrected" | "pinned" | "in_dialogue" | "told" | "repeated" | "over_budget" | "over_limit";
  part: number | null;
}

/** Why a recall returned its result: its candidates, their scores, and its limits. Attributes: method: the method that recalled. stages: the names of the scores, in the order in which they were given. Recall from the log has ``meaning`` (cosine), ``words`` (BM25) and ``evidence`` (their sum, with time and speakers), ``ranking`` (a model of relevance), ``reranking`` (if there is a reranker), ``identifiers`` and ``time`` (where the question names some), ``speech`` (if it asks for the assistant's words or the user's questions), ``order`` (if it asks for the latest or the earliest), ``echoes`` (the user's words before repetitions), ``antecedents`` (what a pronoun stands for) and ``states`` (the order in which matters with several states come); for a question about a time alone only ``time``. Other methods have ``retrieval`` and ``reranking``, or none if they search nothing. candidates: the best first. budget: maximum tokens of the recollection; None without a limit. tokens: tokens of the recollection. stopped: ``small_talk`` if nothing was searched because of that, else empty. recollection: the result, as of ``recall``, with the timelines of its parts. prompt: the exact words that a model is given; empty if nothing is relevant. recalled: where a past reply is explained, ids of the memories that it was given then. */
export interface Explanation {
  method: string;
  stages: Array<string>;
  candidates: Array<ExplainedCandidate>;
  budget: number | null;
  tokens: number;
  stopped: string;
  recollection: Recollection;
  prompt: string;
  recalled: Array<number>;
}

/** What is wrong with one part of a request. */
export interface FieldProblem {
  where: string;
  message: string;
}

/** What ``forget`` erased. Attributes: scope: the scope in which it was called. sessions, turns, memories, links, vectors: how many of each were erased. journal: entries whose text was erased; their token counts stay. kept: what was not erased, and why. pending_again: number of other sessions that are pending again, because memories of theirs were erased. kept_repeats: whether a turn that ``kept`` names repeats what was erased: a name, a number or a rare word of it, or half of the words of a sentence. files_verified: whether no erased text was found in any file afterwards, but for that of turns that ``kept`` names. False, for example, while an export reads an earlier state, and on a server, whose files can't be read. verified: whether ``files_verified``, and no turn that ``kept`` names repeats erased text. remaining: where a server may keep erased text for some time, and what goes on naming the user, such as a valid key; empty for a file without that. */
export interface ForgetReport {
  scope: Scope;
  sessions: number;
  turns: number;
  memories: number;
  links: number;
  vectors: number;
  journal: number;
  kept: Array<string>;
  pending_again: number;
  kept_repeats: boolean;
  files_verified: boolean;
  verified: boolean;
  remaining: string;
}

/** What an erasure would erase now. Attributes: sessions, turns, memories: numbers of what would be erased, ascending. report: what else, and what would be kept, as of a receipt; nothing is verified. */
export interface Forgetting {
  sessions: Array<number>;
  turns: Array<number>;
  memories: Array<number>;
  report: ForgetReport;
}

/** The process answers requests. */
export interface Health {
  status: string;
}

/** All sessions with one user, as read from a file. Attributes: name: the source's name for it; the default name of the user. transcripts: the sessions, oldest first. notes: irregularities of the source and their counts, such as ``{"turns without a date": 3}``. */
export interface History {
  name: string;
  transcripts: Array<Transcript>;
  notes?: Record<string, number>;
}

/** The contents of a history that could be imported. Attributes: name: the source's name for it. sessions, turns, memories: how many it has. known: how many of its sessions are in the log already; of those, only new turns are logged. first, last: times of its first and last turn; None if a session has no date. speakers: turns by speaker, the most frequent first. sample: its first turns; where ``first`` is None, their times only keep the order. */
export interface HistoryPreview {
  name: string;
  sessions: number;
  known: number;
  turns: number;
  memories: number;
  first: string | null;
  last: string | null;
  speakers: Record<string, number>;
  sample: Array<UtteranceOutput>;
}

/** What an import would bring in. ``histories`` of several people are those of a data set: one of them is chosen by its name. An export of this user has none, and would be restored. */
export interface ImportPreview {
  format: string;
  histories: Array<HistoryPreview>;
  one_account: boolean;
  notes: Record<string, number>;
  /** What can't be read, and why. */
  rejected: Array<Rejected>;
}

/** The result of logging a history. Attributes: user: the user who owns it now. sessions_new, sessions_known: sessions that were new to the log, and that were in it. turns_new: turns that were logged. memories_imported: imported memories that were stored. forgotten: turns and imported memories left out because they were forgotten before. */
export interface ImportReport {
  user: string;
  sessions_new: number;
  sessions_known: number;
  turns_new: number;
  memories_imported: number;
  forgotten: number;
}

/** Counts of what an import added; the rest was there already, or was forgotten before. */
export interface Imported {
  format: string;
  sessions_new: number;
  turns_new: number;
  memories_imported: number;
  records_new: number;
  forgotten: number;
  notes: Record<string, number>;
}

/** A memory that was read from a file together with its session. Attributes: text: the statement. speakers: the people it is about. source_keys: keys of the turns that support it, if the file names them. */
export interface ImportedMemory {
  text: string;
  speakers?: Array<string>;
  source_keys?: Array<string>;
}

/** A process that is remembering a user now. Attributes: holder: host and number of the process. until: when others may take over, unless it is extended; by the database's clock. expired: whether that time has passed. */
export interface Lease {
  scope: Scope;
  holder: string;
  until: string;
  expired: boolean;
}

/** A directed edge from an older memory to a newer one. Attributes: older, newer: memory ids. relation: None for a link by similarity and order alone (``relation_aware=False``). explanation: the reason in the model's words, or the local cue that matched. similarity: cosine similarity of the two memories' vectors, -1 to 1. made_by: the model's name, or ``local``. prompt: name and version of the prompt; empty without a model. */
export interface Link {
  older: number;
  newer: number;
  relation: Relation | null;
  explanation: string;
  similarity: number;
  made_by: string;
  prompt: string;
}

/** A link without its explanation. */
export interface LinkEdge {
  older: number;
  newer: number;
  relation: Relation | null;
}

/** A note on a memory: that it is no longer in effect, or pinned. It is not changed itself. Attributes: id: number in the scope, from 1, in the order of commit. memory: id of the marked memory. kind: see :data:`MarkKind`. by: id of the memory that replaced it, or None. session: id of the session whose remembering marked it; forgetting that session removes the mark. reason: the reason in the model's words, or the local rule. method: id of the method that marked it. made_by: the model's name, or ``local``. prompt: name and version of the prompt; empty without a model. */
export interface Mark {
  id: number;
  memory: number;
  kind: "superseded" | "withdrawn" | "corrected" | "pinned" | "unpinned" | "accepted";
  by: number | null;
  session: number;
  reason: string;
  method: string;
  made_by: string;
  prompt: string;
}

/** One stored statement, digest or excerpt. Attributes: id: number in the scope, from 1, in the order of commit. session: id of the session that it was made from. text: the words. at: the time of the last turn that supports it, aware, in that turn's UTC offset. session_ended_at: when its session ended (the paper's time of a memory), aware, UTC. kind: ``statement``, or a kind that its method defines. speakers: the people it is about. cues: other words by which one may ask for it; recall searches them with the text. source_turns: ids of the turns that directly support it, ascending. Empty for an imported memory whose file names no turns, and for one made only from other memories. derived_from: ids of the memories that it was made from, ascending; forgetting one of them erases this one as well. method: id of the method that made it. made_by: the model's name; ``local`` without a model, ``given`` for an imported memory, ``caller`` for a correction. prompt: name and version of the prompt, such as ``summarize@1``; empty without a model. dated: False when its session has no dates: then the times only keep the order. metadata: what all turns and memories that it was made from have in common; its session's if it names none. */
export interface Memory {
  id: number;
  session: number;
  text: string;
  at: string;
  session_ended_at: string;
  kind: string;
  speakers: Array<string>;
  source_turns: Array<number>;
  derived_from: Array<number>;
  method: string;
  made_by: string;
  prompt: string;
  dated: boolean;
  metadata: Record<string, string | number | boolean | null>;
  cues: Array<string>;
}

/** A memory, the marks on it and its links. */
export interface MemoryDetail {
  memory: Memory;
  pinned: boolean;
  marks: Array<Mark>;
  links: Array<Link>;
}

/** When and why a memory is no longer in effect. Attributes: memory: its id. kind: see :data:`theanine.types.MarkKind`. by: id of the memory that replaced it, or None. at: when the session began whose remembering marked it; of a state that a change ended, when what replaced it was said. */
export interface MemoryEnd {
  memory: number;
  kind: "superseded" | "withdrawn" | "corrected" | "pinned" | "unpinned" | "accepted";
  by: number | null;
  at: string;
}

/** All memories of a user, their links, their ends and their topics. Attributes: memories: in the order of ids. links: those between them. ends: those that are no longer in effect; a state ends with the statements that it is of. own_ends: of those that have one. topics: each memory is in one; the one with the most to tell first, then the newest. methods: the methods that have remembered something, and how many memories; if known. */
export interface MemoryGraph {
  memories: Array<MemoryNode>;
  links: Array<LinkEdge>;
  ends: Array<MemoryEnd>;
  own_ends: Array<OwnEnd>;
  topics: Array<Topic>;
  methods: Record<string, number>;
}

/** A memory as the graph shows it; details are loaded when it is opened. Attributes: words: its text; of a quote, the quoted words alone. at, dated, session, kind, speakers, method, made_by: as of :class:`theanine.Memory`. pinned: whether it is in every recollection. */
export interface MemoryNode {
  id: number;
  words: string;
  at: string;
  dated: boolean;
  session: number;
  kind: string;
  speakers: Array<string>;
  method: string;
  made_by: string;
  pinned: boolean;
}

/** Numbers of memories, links and sessions (remembered, pending) of a user by one method. */
export interface MethodCount {
  method: string;
  memories: number;
  links: number;
  remembered: number;
  pending: number;
}

/** The method of this service's store, and all that are installed. */
export interface Methods {
  current: string;
  installed: Array<string>;
}

/** The conversations of a month, such as ``2024-03``; empty for those without a date. */
export interface Month {
  month: string;
  conversations: number;
}

/** Methods to compare on what a user said. */
export interface NewComparison {
  user: string;
  agent?: string | null;
  methods: Array<string>;
  /** Maximum number of questions. Default: `20`. */
  questions?: number;
  /** US dollars after which no more questions are asked. */
  max_cost?: number | null;
}

/** The data to forget: one session, one memory, or everything of the user. */
export interface NewForgetting {
  session?: number | null;
  memory?: number | null;
  /** Default: `false`. */
  everything?: boolean;
  /** Seconds until it is erased; it is hidden at once. Default: `30`. */
  pause?: number;
}

/** Name, rights and limits of a new key. */
export interface NewKey {
  name: string;
  user?: string | null;
  agent?: string | null;
  rights?: Array<"read" | "write" | "reply" | "administer"> | null;
  rate?: number | null;
  expires_at?: string | null;
}

/** Messages to log. */
export interface NewMessages {
  messages?: Array<Record<string, unknown>>;
  /** Turns in full, instead of messages. */
  utterances?: Array<UtteranceInput>;
  /** Whether the list may begin with messages sent before. Default: `true`. */
  resent?: boolean;
  speaker?: string;
  at?: string | null;
  /** From then on it is not shown any more, and soon erased. */
  expires?: string | null;
  /** From then on it is marked as to be verified. */
  verify_by?: string | null;
  metadata?: Record<string, string | number | boolean | null> | null;
}

/** Work to start. */
export interface NewOperation {
  kind: "remember" | "rebuild" | "expire";
  /** Default: all users. */
  user?: string | null;
  /** Default: all agents. */
  agent?: string | null;
  /** Also rebuild sessions that are already remembered. Default: `false`. */
  again?: boolean;
  /** Rebuild with new replies of the model. Default: `false`. */
  fresh?: boolean;
}

/** A URL, and the changes about which it gets messages. */
export interface NewWebhook {
  name: string;
  /** An https:// URL of the internet. */
  url: string;
  /** Default: all. Default: `["sessions.started", "turns.stored", "memories.made", "memories.changed", "data.forgotten", "session.remembered", "session.failed", "operation.ended"]`. */
  kinds?: Array<"sessions.started" | "turns.stored" | "memories.made" | "memories.changed" | "data.forgotten" | "session.remembered" | "session.failed" | "operation.ended">;
  /** Default: all users. */
  user?: string | null;
  /** Default: all agents. */
  agent?: string | null;
}

/** Long work and its state. Attributes: user, agent: whose data it is about; None for all users of the tenant. Of a user who was forgotten since, a pseudonym. options: how a rebuild or a comparison is done, or the number of the memory or session to forget. tries: how often it was started. done: sessions, users or, of a comparison, recalls that are done so far. not_before: when it begins at the earliest; None for at once. result: what was done, once it has ended: counts, and under ``reports`` or ``receipts`` each session or user, the first thousand; of a comparison, the name of its ``run``. error: why it failed. */
export interface Operation {
  id: string;
  kind: "remember" | "rebuild" | "expire" | "forget" | "compare";
  user: string | null;
  agent: string | null;
  options: Record<string, unknown>;
  state: "waiting" | "running" | "succeeded" | "failed" | "cancelled";
  tries: number;
  done: number;
  created_at: string;
  not_before: string | null;
  ended_at: string | null;
  result: Record<string, unknown>;
  error: string;
}

/** The end that a memory has by itself, as its metadata has it; see :mod:`theanine.ends`. */
export interface OwnEnd {
  memory: number;
  expires: string | null;
  verify_by: string | null;
}

export interface PageAuditEntry_ {
  items: Array<AuditEntry>;
  next: string | null;
}

export interface PageConversation_ {
  items: Array<Conversation>;
  next: string | null;
}

export interface PageDelivery_ {
  items: Array<Delivery>;
  next: string | null;
}

export interface PageMemory_ {
  items: Array<Memory>;
  next: string | null;
}

export interface PageOperation_ {
  items: Array<Operation>;
  next: string | null;
}

export interface PageScope_ {
  items: Array<Scope>;
  next: string | null;
}

export interface PageSession_ {
  items: Array<Session>;
  next: string | null;
}

export interface PageTurn_ {
  items: Array<Turn>;
  next: string | null;
}

/** One piece of a recollection, with its provenance. Attributes: text: the words for the prompt. memories: the memories that the text was made from, in its order. source_turns: the turns that support those memories, in time order. timeline: the timeline that the text was made from, or None. score: rank score of what was retrieved; higher is better, the scale is the method's own. relevance: probability that the part is evidence for the query, 0 to 1; None where the method does not estimate it. made_by: the name of the model that wrote the text, or ``local``. pinned: whether it is returned whatever is asked: its memory is pinned or, without a memory, it is what is known of the user. scope: the scope that it was recalled from, where there are several; else None. */
export interface Part {
  text: string;
  memories: Array<Memory>;
  source_turns: Array<Turn>;
  timeline: Timeline | null;
  score: number;
  relevance: number | null;
  made_by: string;
  pinned: boolean;
  scope: Scope | null;
}

/** An ended session that a method has not remembered. Attributes: attempts: how often remembering it has failed. failure: why it failed last; None if it hasn't. state: what becomes of it: - ``waiting``: it is remembered when its turn comes; - ``running``: a process is remembering this user, and this session is the next; - ``failed``: it is tried again; - ``set aside``: it has failed so often that no worker tries it again; ``remember`` and ``retry_remembering`` do; - ``cancelled``: nobody tries it, until ``retry_remembering``. retry_at: when workers try it again, by the database's clock; None for as soon as they can. due: whether a worker would try it now, if it is not set aside. */
export interface Pending {
  scope: Scope;
  session: number;
  method: string;
  attempts: number;
  failure: string | null;
  state: "waiting" | "running" | "failed" | "set aside" | "cancelled";
  retry_at: string | null;
  due: boolean;
}

/** Whether a memory is pinned, and whether this request changed that. */
export interface Pinned {
  pinned: boolean;
  changed: boolean;
}

/** Where a memory was said: its id and words, and the ids of its source turns. */
export interface Place {
  memory: number;
  words: string;
  turns: Array<number>;
}

/** The sender of a request: its key, and what that key may access. Attributes: key: id of the key; empty without one (``--dev``). tenant: the only tenant whose data it can access. user: the only user it may name; None for all of the tenant. agent: the only agent it may name; None for all of the tenant. rights: what it may do. rate: requests a minute; None for no limit of its own. */
export interface Principal {
  key: string;
  tenant: string;
  user: string | null;
  agent: string | null;
  rights: Array<"read" | "write" | "reply" | "administer">;
  rate: number | null;
}

/** Why a request failed. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  errors: Array<FieldProblem>;
}

/** The known facts about a user, with their sources; false if there are none. Attributes: user: the user's name. lines: what holds, by area, in each the surest first, then the newest. changes: what changed in the last three months of the log, the newest first. entities: who and what comes up, the most mentioned first. */
export interface Profile {
  user: string;
  lines: Array<ProfileLine>;
  changes: Array<ProfileChange>;
  entities: Array<Entity>;
}

/** A change of the user's: the words that tell it, and what held before. Attributes: area: the area of what held before. */
export interface ProfileChange {
  text: string;
  turn: number;
  session: number;
  at: string;
  dated: boolean;
  area: string;
  before: Quote;
}

/** Something that holds of the user. The words are the user's own, or a model's; ``turn``, ``session`` and ``at`` are then those of the newest turn that supports them. Attributes: area: a key of ``AREAS``. since: when it was first said. before: what it was before, the latest first. certainty: how sure it is that it holds. is_correction: whether the newest words are a correction by ``user.correct``. source_turns: ids of the turns that support it, the oldest first. made_by: the model that wrote ``text``; ``local`` for the user's own words, verbatim. */
export interface ProfileLine {
  text: string;
  turn: number;
  session: number;
  at: string;
  dated: boolean;
  area: string;
  since: string;
  before: Array<Quote>;
  certainty: "repeated" | "said" | "may be outdated" | "to be verified";
  is_correction: boolean;
  source_turns: Array<number>;
  made_by: string;
}

/** The bounds of a profile that the service's model writes. */
export interface ProfileRequest {
  /** Use only what was known at this time. */
  as_of?: string | null;
  /** The user's name among those who speak; default: the id. */
  name?: string | null;
}

/** A question or a dialogue, and the bounds of its recall. */
export interface Question {
  dialogue?: string | Array<Record<string, unknown>>;
  /** Turns, instead of a dialogue. */
  utterances?: Array<UtteranceInput>;
  min_relevance?: number | null;
  since?: string | null;
  until?: string | null;
  /** Use only what was known at this time. */
  as_of?: string | null;
  /** A filter by metadata, such as `channel=web and priority>=2`, or the same as an object. */
  where?: Record<string, unknown> | string | null;
  /** Maximum tokens. */
  budget?: number | null;
  /** Maximum parts. */
  limit?: number | null;
  /** Put what is known of the user first, in at most 300 tokens. Default: `false`. */
  profile?: boolean;
  /** Seconds within which to answer, by doing less if need be; `notes` say what was left out. Less than 0.1 counts as 0.1. Default: as the service is set. */
  deadline?: number | null;
}

/** Words of the user's, and where they are. Attributes: text: the words, verbatim. turn, session: ids of the turn and its session. at: when they were said; without ``dated``, it only keeps the order. */
export interface Quote {
  text: string;
  turn: number;
  session: number;
  at: string;
  dated: boolean;
}

/** The result of a recall. ``messages`` go after the user's newest message to your own model; none if nothing is relevant. */
export interface Recalled {
  recollection: Recollection;
  text: string;
  messages: Array<Record<string, unknown>>;
}

/** The result of a recall; empty (and false) when nothing relevant is stored. Attributes: query: the text that retrieval ranked by. parts: the pieces, in the order of the prompt. best_relevance: relevance of the best candidate, returned or not; None if there is no candidate or the method does not estimate relevance. min_relevance: the relevance that the best candidate must have for anything to be returned. notes: deviations from the configuration, such as a step for which there was no time. user: the user's name in the dialogue. */
export interface Recollection {
  query: string;
  parts: Array<Part>;
  best_relevance: number | null;
  min_relevance: number;
  notes: Array<string>;
  user: string;
}

export type Rejected = [string, string];

/** How an older memory relates to a newer one. Source: Theanine, appendix B.1, but for two: ``FULFILLED`` (the newer one tells that what was planned has happened) and ``CORRECTED`` (what the older one tells was never so). */
export type Relation = "Changed" | "Fulfilled" | "Corrected" | "Cause" | "Reason" | "HinderedBy" | "React" | "Want" | "SameTopic";

/** The result of remembering one session. Attributes: session: its number; 0 if the data of the user is damaged, and not by one session. memories, links: how many were committed. pairs: how many (older, newer) pairs were compared for a relation. usage: model calls and tokens. notes: messages for the user, such as a step that fell back to its local version, or a reply that was cut off. failure: why the session is still pending, or None. It may quote what was said. damaged: whether that is because stored data can't be read. error: the type of the error that it failed by; empty if it didn't. attempts: how often the session has failed by now. set_aside: whether it has failed so often that no worker tries it again. seconds: how long it took. */
export interface RememberReport {
  scope: Scope;
  session: number;
  memories: number;
  links: number;
  pairs: number;
  usage: Usage;
  notes: Array<string>;
  failure: string | null;
  damaged: boolean;
  error: string;
  attempts: number;
  set_aside: boolean;
  seconds: number;
}

/** The assistant's turn, and what it is based on. */
export interface Replied {
  text: string;
  recollection: Recollection;
  rationale: string;
  made_by: string;
  notes: Record<string, string>;
  tool_calls: Array<ToolCall>;
  finish: string;
}

/** A finished run. ``scores`` are means by method or category and metric; the key ``""`` is all together. */
export interface Run {
  name: string;
  bench: string;
  method: string;
  samples: number;
  failures: number;
  scores: Record<string, Record<string, number>>;
  cost: number | null;
  has_report: boolean;
}

/** A message of the user. */
export interface Said {
  /** A text, or parts of a message's content. */
  content: string | Array<Record<string, unknown>>;
  /** The application's id of the message. */
  id?: string | null;
  at?: string | null;
  /** From then on it is not shown any more, and soon erased. */
  expires?: string | null;
  /** From then on it is marked as to be verified. */
  verify_by?: string | null;
  metadata?: Record<string, string | number | boolean | null> | null;
  speaker?: string | null;
}

/** A message of the assistant, whose name is the agent's. */
export interface SaidByAssistant {
  /** A text, or parts of a message's content. */
  content: string | Array<Record<string, unknown>>;
  /** The application's id of the message. */
  id?: string | null;
  at?: string | null;
  /** From then on it is not shown any more, and soon erased. */
  expires?: string | null;
  /** From then on it is marked as to be verified. */
  verify_by?: string | null;
  metadata?: Record<string, string | number | boolean | null> | null;
  /** Ids of the memories that were in the model's prompt. */
  recalled?: Array<number>;
}

/** The owner of stored data. Nothing is read or written across scopes. Attributes: user: the person. agent: the deployed agent that talks with the user. tenant: the customer whose data is isolated from all others'. */
export interface Scope {
  user: string;
  agent: string;
  tenant: string;
}

/** A question or words, and the bounds of the search. */
export interface Search {
  min_relevance?: number | null;
  since?: string | null;
  until?: string | null;
  /** Use only what was known at this time. */
  as_of?: string | null;
  /** A filter by metadata, such as `channel=web and priority>=2`, or the same as an object. */
  where?: Record<string, unknown> | string | null;
  query: string;
  /** Maximum hits; 10 by default. */
  limit?: number | null;
  /** Find all turns that have each of the words, in any case and order. Default: `false`. */
  exact?: boolean;
  /** Of an exact search: only this speaker's turns. */
  speaker?: string | null;
  /** Of an exact search: only turns of this session. */
  session?: number | null;
  /** Of an exact search: the oldest first, not the newest. Default: `false`. */
  oldest_first?: boolean;
}

/** A turn or a memory that matches a search. Attributes: turn: the turn that matches; None where a memory does. memories: the memory that matches; of a turn, the statements in effect that it supports, those with the fewest source turns first; none in an exact search. text: the passage of the turn, or the text of the memory, that matches best. score: higher is better; the scale is that of the method; 1 in an exact search. relevance: probability that it is evidence for the question, 0 to 1; None where the method does not estimate it, and in an exact search. */
export interface SearchHit {
  turn: Turn | null;
  memories: Array<Memory>;
  text: string;
  score: number;
  relevance: number | null;
}

/** The turns of one conversation, from its start to its end or to a long pause. Attributes: id: number in the scope, from 1, in the order of logging. key: the session's own name, unique in the scope; for an imported session its name in the file. thread: the application's key of the conversation that the session continues; None for a session of its own. started_at: the first turn's time, aware, in that turn's UTC offset. ended_at: when it ended; None while it is open. dated: False when the source has no dates: then the times only keep the order. turn_count: number of turns. remembered_at: when its memories were committed; None before. failure: why the last attempt to remember it failed; None if it didn't. set_aside: why workers leave it alone: ``failed`` too often, or ``cancelled``; else None. metadata: the caller's own data, which all of its turns have too. */
export interface Session {
  id: number;
  key: string;
  started_at: string;
  ended_at: string | null;
  dated: boolean;
  turn_count: number;
  remembered_at: string | null;
  failure: string | null;
  metadata: Record<string, string | number | boolean | null>;
  thread: string | null;
  set_aside: "failed" | "cancelled" | null;
}

/** How a session ends. */
export interface SessionEnd {
  /** Remember now (true) or later (false); default: the service's setting. */
  remember?: boolean | null;
  at?: string | null;
}

/** Settings of a user; ``retention`` is how long turns and memories are kept. */
export interface Settings {
  time_zone: string | null;
  retention: string | null;
}

/** Credentials of a browser. */
export interface SignIn {
  /** A key, or the secret of a one-time link. */
  token: string;
}

/** Settings of a tenant. ``retention`` is how long turns and memories are kept, for users without a setting of their own. */
export interface TenantSettings {
  retention: string | null;
}

/** Model calls and errors. ``methods`` tells which method a step belongs to; those that all methods share are left out. */
export interface TenantUsage {
  lines: Array<UsageLine>;
  errors: Array<CallError>;
  methods: Record<string, string>;
}

/** Messages of a thread. */
export interface ThreadMessages {
  messages?: Array<Record<string, unknown>>;
  /** Turns in full, instead of messages. */
  utterances?: Array<UtteranceInput>;
  /** Whether the list may begin with messages sent before. Default: `true`. */
  resent?: boolean;
  speaker?: string;
  at?: string | null;
  /** From then on it is not shown any more, and soon erased. */
  expires?: string | null;
  /** From then on it is marked as to be verified. */
  verify_by?: string | null;
  metadata?: Record<string, string | number | boolean | null> | null;
  /** Ids of the memories that the assistant was shown. */
  recalled?: Array<number> | null;
}

/** Bounds of a recall in a thread. */
export interface ThreadRecall {
  min_relevance?: number | null;
  since?: string | null;
  until?: string | null;
  /** Use only what was known at this time. */
  as_of?: string | null;
  /** A filter by metadata, such as `channel=web and priority>=2`, or the same as an object. */
  where?: Record<string, unknown> | string | null;
  /** Maximum tokens. */
  budget?: number | null;
  /** Maximum parts. */
  limit?: number | null;
  /** Put what is known of the user first, in at most 300 tokens. Default: `false`. */
  profile?: boolean;
  /** Seconds within which to answer, by doing less if need be; `notes` say what was left out. Less than 0.1 counts as 0.1. Default: as the service is set. */
  deadline?: number | null;
  /** The `last` that was given to `messages`. */
  last?: number | null;
  /** Minimum number of turns; grows in steps. Default: `20`. */
  window?: number | null;
}

/** A reply in a thread. */
export interface ThreadReply {
  min_relevance?: number | null;
  since?: string | null;
  until?: string | null;
  /** Use only what was known at this time. */
  as_of?: string | null;
  /** A filter by metadata, such as `channel=web and priority>=2`, or the same as an object. */
  where?: Record<string, unknown> | string | null;
  /** Maximum tokens. */
  budget?: number | null;
  /** Maximum parts. */
  limit?: number | null;
  /** Put what is known of the user first, in at most 300 tokens. Default: `false`. */
  profile?: boolean;
  /** Seconds within which to answer, by doing less if need be; `notes` say what was left out. Less than 0.1 counts as 0.1. Default: as the service is set. */
  deadline?: number | null;
  system?: string;
  persona?: string;
  temperature?: number | null;
  max_tokens?: number | null;
  stop?: Array<string>;
  tools?: Array<Record<string, unknown>>;
  prompt?: "chat" | "transcript" | null;
  at?: string | null;
  /** Answer with server-sent events. Default: `false`. */
  stream?: boolean;
  /** Minimum number of turns that the model sees. Default: `20`. */
  window?: number | null;
}

/** Memories about one matter, oldest first. Attributes: memories: the memories; none only repeats another one. links: those between them. In a recollection they join each memory to the next one. retrieved: id of the memory that was asked for or retrieved; the newest one otherwise. title: a few words that say what it is about; empty in a recollection. */
export interface Timeline {
  memories: Array<Memory>;
  links: Array<Link>;
  retrieved: number;
  title: string;
}

/** A call that the model asks the application for. Attributes: id: the provider's id of the call, which the tool's result refers to. name: the tool's name. arguments: its arguments, JSON-ready. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** Memories about one subject. Attributes: title: a few words that they have in common, or how the first one begins; empty for a single memory. memories: their ids, oldest first. repeats: ids of further memories that only say again what one of these says. */
export interface Topic {
  title: string;
  memories: Array<number>;
  repeats: Array<number>;
}

/** A complete session that is not in the log yet. Attributes: key: the session's name in its source, unique in the scope; a key that is already logged adds only what is new. turns: the turns in order; empty if there are only memories. at: the session's date. dated: False when the source has no dates: then ``at`` only keeps the order. memories: imported memories. metadata: the caller's own data about the session, for all of its turns and memories. revised: whether the source may have been edited since an earlier import. Then logged turns stay as they are whatever it says now, and new ones are added at the end; otherwise a difference is an error. */
export interface Transcript {
  key: string;
  turns: Array<UtteranceInput>;
  at: string;
  /** Default: `true`. */
  dated?: boolean;
  memories?: Array<ImportedMemory>;
  metadata?: Record<string, string | number | boolean | null>;
  /** Default: `false`. */
  revised?: boolean;
}

/** One utterance by one speaker, in the log. Attributes: id: number in the scope, from 1, in the order of logging. session: id of the session. dated: False when the source has no dates: then ``at`` only keeps the order. metadata: its own, over that of its session. */
export interface Turn {
  text: string;
  speaker: string;
  at: string;
  role: "user" | "assistant" | "system" | "tool";
  key: string | null;
  attachment: string;
  recalled: Array<number>;
  notes: Record<string, string>;
  metadata: Record<string, string | number | boolean | null>;
  content: Array<Record<string, unknown>>;
  id: number;
  session: number;
  dated: boolean;
}

/** Calls to a language model, their tokens and their cost. Add two with ``+``. Attributes: calls: requests sent to the model. replayed: replies taken from the journal instead; they cost nothing. failed: those of ``calls`` that brought no reply, or none that could be used. input_tokens, output_tokens: tokens of ``calls``, as counted by the provider. cost: US dollars for ``calls``; None if the price of any is unknown. seconds: time spent waiting for the model, summed over concurrent calls. truncated: texts that were cut off at their bound of tokens, and used up to there; none of them is stored. */
export interface Usage {
  calls: number;
  replayed: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
  seconds: number;
  truncated: number;
}

/** Model calls of one day, step and model. Attributes: day: in UTC. failed: calls whose replies could not be used. cost: US dollars; None if the price of any is unknown. cacheable: share of the prompts that begins like the one before it of the same step and model, which is the most that a provider's cache can serve; None if too few are stored. */
export interface UsageLine {
  day: string;
  step: string;
  model: string;
  calls: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
  seconds: number;
  cacheable: number | null;
}

/** A turn that is not in the log yet. Attributes: text: the words, verbatim. speaker: the speaker's name. at: the time, an aware datetime; its UTC offset is kept. role: see :data:`Role`; the speaker never decides it. key: the caller's own id, unique in the session; a key that is already logged changes nothing. attachment: what the speaker shared with the words, such as a picture's description. recalled: ids of the memories in the prompt that this turn replied to. notes: the method's notes on this turn, such as ``{"worth": "yes"}``; never words of the dialogue. metadata: the caller's own data, such as ``{"channel": "web"}``; never put in a prompt. content: the parts of the message that the text describes in words, such as images and calls of tools; empty where the text is all of it, and for turns that were read without their content. */
export interface UtteranceInput {
  text: string;
  speaker: string;
  at: string;
  /** Default: `"user"`. */
  role?: "user" | "assistant" | "system" | "tool";
  key?: string | null;
  attachment?: string;
  recalled?: Array<number>;
  notes?: Record<string, string>;
  metadata?: Record<string, string | number | boolean | null>;
  content?: Array<Record<string, unknown>>;
}

/** A turn that is not in the log yet. Attributes: text: the words, verbatim. speaker: the speaker's name. at: the time, an aware datetime; its UTC offset is kept. role: see :data:`Role`; the speaker never decides it. key: the caller's own id, unique in the session; a key that is already logged changes nothing. attachment: what the speaker shared with the words, such as a picture's description. recalled: ids of the memories in the prompt that this turn replied to. notes: the method's notes on this turn, such as ``{"worth": "yes"}``; never words of the dialogue. metadata: the caller's own data, such as ``{"channel": "web"}``; never put in a prompt. content: the parts of the message that the text describes in words, such as images and calls of tools; empty where the text is all of it, and for turns that were read without their content. */
export interface UtteranceOutput {
  text: string;
  speaker: string;
  at: string;
  role: "user" | "assistant" | "system" | "tool";
  key: string | null;
  attachment: string;
  recalled: Array<number>;
  notes: Record<string, string>;
  metadata: Record<string, string | number | boolean | null>;
  content: Array<Record<string, unknown>>;
}

/** How many sessions wait to be remembered now. */
export interface Waiting {
  waiting: number;
}

/** A webhook without its secret. Attributes: name: its purpose, as given by its creator. user: the only user about whose changes it gets messages; None for all of the tenant. agent: likewise the only agent. kinds: the kinds of messages that it gets; see :data:`WebhookKind`. created_at: when it was made, aware. disabled: why it gets no messages; None if it does. See :data:`WhyDisabled`. failing_since: when it began to fail with everything that was sent; None if it doesn't. waiting: messages that are not delivered yet. */
export interface Webhook {
  id: string;
  name: string;
  url: string;
  user: string | null;
  agent: string | null;
  kinds: Array<"sessions.started" | "turns.stored" | "memories.made" | "memories.changed" | "data.forgotten" | "session.remembered" | "session.failed" | "operation.ended">;
  created_at: string;
  disabled: "request" | "gone" | "failing" | "backlog" | null;
  failing_since: string | null;
  waiting: number;
}

/** Changes of a webhook; fields that are left out stay as they are. */
export interface WebhookChange {
  name?: string | null;
  url?: string | null;
  kinds?: Array<"sessions.started" | "turns.stored" | "memories.made" | "memories.changed" | "data.forgotten" | "session.remembered" | "session.failed" | "operation.ended"> | null;
  /** Whether it gets messages; true enables a disabled one again. */
  enabled?: boolean | null;
}

/** A webhook with its new secret, which is shown only here. */
export interface WebhookWithSecret {
  webhook: Webhook;
  secret: string;
}

/** The sessions that wait to be remembered, the first 500, and who is remembering. */
export interface Work {
  pending: Array<Pending>;
  leases: Array<Lease>;
}
