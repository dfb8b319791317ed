/** The panel that is open beside a view: a memory, a topic, or what changed. */
import { MemoryPanel } from "./memory.js";
import { readPeriod } from "./scrubber.js";
import { DifferencePanel, TopicPanel } from "./story.js";
import { html } from "../core/html.js";
import { navigate } from "../core/route.js";
import { compare } from "../timeline/knowledge.js";

const CLOSED = { memory: null, topic: null, changes: null };

/** Open a memory in the panel. */
export const openMemory = (id) => navigate({ ...CLOSED, memory: id });
/** Open a topic. */
export const openTopic = (topic) => navigate({ ...CLOSED, topic: topic.memories[0].id });
/** The panel by the parameters of the address. */
export function Panels({ who, graph, params }) {
  const close = () => navigate(CLOSED);
  if (params.memory) {
    return html`<${MemoryPanel} who=${who} graph=${graph} id=${Number(params.memory)} onClose=${close} />`;
  }
  const topic = graph.memories.get(Number(params.topic))?.topic;
  if (topic) return html`<${TopicPanel} topic=${topic} onClose=${close} />`;
  const period = params.changes ? readPeriod(graph, params) : null;
  if (!period) return null;
  const difference = compare(graph, period.earlier, period.later);
  return html`<${DifferencePanel} difference=${difference} ...${period} onClose=${close} />`;
}
