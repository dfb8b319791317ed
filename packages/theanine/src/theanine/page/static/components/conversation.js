/** Conversations as links, and places in them. */
import { html } from "../core/html.js";
import { linkTo } from "../core/route.js";
import { formatDate, t, wallTime } from "../core/texts.js";

/** The address of a turn in its conversation, with the words that were searched for. */
export const linkToTurn = ({ session, turn }, q) =>
  linkTo({ session, turn, q: q ?? null, memory: null, month: null, day: null, entity: null }, "conversations");

/** What a conversation is called: its title, or how it begins. */
export const titleOfConversation = ({ title, begins, session }) => title || begins || t("conversation.number", { session });

/** A conversation in a list. */
export const ConversationItem = ({ conversation, isNear }) => html`
  <a class="memory-item conversation-item" dir="auto" aria-current=${isNear ? "true" : undefined}
    href=${linkTo({ session: conversation.session, month: null, day: null }, "conversations")}>
    <span class="quiet">${conversation.dated ? formatDate(wallTime(conversation.started_at)) : t("date.unknown")}</span>
    <span class="words">${titleOfConversation(conversation)}</span>
    <span class="quiet"><bdi>${conversation.speakers.join(", ")}</bdi> · ${t("messages", { n: conversation.turn_count })}${
      !conversation.remembered && html` · ${t("conversation.waiting")}`}</span>
  </a>`;
