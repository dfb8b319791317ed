/** The client against a service, whose address and keys are in the environment. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { connect, TheanineError } from "../index.js";

const { SERVICE_URL: url, SERVICE_KEY: key, BOUND_KEY: bound } = process.env;
const memory = connect(url, { key });

async function collect(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

test("what is said is recalled, with its sources", async () => {
  const ana = memory.user("ana");
  const monday = ana.thread("monday");
  const heard = await monday.hear("I'm allergic to hazelnuts.", { id: "m1" });
  assert.equal(heard.speaker, "ana");
  assert.deepEqual(await monday.hear("I'm allergic to hazelnuts.", { id: "m1" }), heard);
  await monday.say("Noted.");
  assert.deepEqual(await monday.messages(), [
    { role: "user", content: "I'm allergic to hazelnuts." },
    { role: "assistant", content: "Noted." },
  ]);
  assert.equal((await monday.recall()).recollection.parts.length, 0); // it is all shown
  const [report] = await monday.end({ remember: true });
  assert.equal(report.memories, 1);
  const found = await ana.recall("May I eat hazelnuts?", { budget: 300 });
  const [part] = found.recollection.parts;
  assert.equal(part.source_turns[0].text, "I'm allergic to hazelnuts.");
  assert.ok(part.relevance > 0 && found.messages.length === 1);
  const [hit] = await ana.search("hazelnuts", { limit: 1, where: "channel=web or topic=null" });
  assert.deepEqual([hit.turn.id, hit.memories.length], [heard.id, 1]);
  assert.ok(hit.relevance > 0);
  assert.equal((await memory.whoami()).tenant, "default");
});

test("a user's name may have any characters", async () => {
  const odd = memory.user("a/b é%?#");
  await odd.add("I live in Rijeka.");
  const [turn] = await collect(odd.turns());
  assert.equal(turn.speaker, "a/b é%?#");
  const agents = memory.user("bo", { agent: "tutor/2" });
  await agents.add([{ role: "user", content: "I live in Split." }]);
  assert.equal((await collect(memory.user("bo").turns())).length, 0);
  const scopes = await collect(memory.users());
  assert.ok(scopes.some(({ user, agent }) => user === "bo" && agent === "tutor/2"));
});

test("memories are listed by pages, corrected, pinned and forgotten", async () => {
  const cleo = memory.user("cleo");
  for (let number = 0; number < 7; number++) await cleo.add(`My cake number ${number} is plum.`);
  assert.equal((await collect(cleo.memories({ limit: 3 }))).length, 7);
  assert.equal((await collect(cleo.turns({ ids: [1, 2] }))).length, 2);
  const corrected = await cleo.correct(1, "My cake number 0 is a tart.");
  await cleo.pin(2);
  assert.deepEqual((await collect(cleo.memories({ pinned: true }))).map(({ id }) => id), [2]);
  await cleo.unpin(2);
  assert.equal((await cleo.memory(corrected.id)).memory.text, "My cake number 0 is a tart.");
  assert.ok((await cleo.timelines()).length > 0);
  const receipt = await cleo.forget({ memory: 3 });
  assert.deepEqual([receipt.turns, receipt.memories, receipt.verified], [1, 1, true]);
  assert.throws(() => cleo.forget({ memory: 1, turn: 1 }), TypeError);
  assert.ok((await cleo.forgetAll()).turns > 0);
  assert.equal((await collect(cleo.turns())).length, 0);
});

test("an error is the service's own", async () => {
  const cases = [
    [() => connect(url, { key: "theanine_0_0" }).whoami(), 401, "unauthorized"],
    [() => memory.user("dan").memory(7), 404, "not_found"],
    [() => memory.user("dan").recall(" "), 422, "bad_input"],
    [() => connect(url, { key: bound }).user("ana").recall("Where?"), 403, "forbidden"],
    [() => connect("http://127.0.0.1:9", { retries: 1 }).whoami(), 0, "service_unreachable"],
  ];
  for (const [call, status, code] of cases) {
    await assert.rejects(call(), (error) => {
      assert.ok(error instanceof TheanineError && error.message);
      assert.deepEqual([error.status, error.code], [status, code]);
      return true;
    });
  }
  const refused = memory.user("dan").request("POST", "/recall", { body: { query: "Where?" } });
  await assert.rejects(refused, /there is no such field; there are dialogue, utterances/);
});

test("a request whose answer is lost is sent again, and done once", async () => {
  let calls = 0;
  const losing = async (...given) => {
    const answer = await fetch(...given);
    if (++calls % 2) throw new TypeError("the connection broke");
    return answer;
  };
  const ella = connect(url, { key, fetch: losing }).user("ella");
  await ella.add("I live in Zadar.");
  assert.equal(calls, 2);
  assert.equal((await collect(memory.user("ella").turns())).length, 1);
});

test("changes and replies come as streams", async () => {
  const finn = memory.user("finn");
  await finn.add("I live in Pula.");
  const stopped = new AbortController();
  const first = (async () => {
    for await (const change of finn.events({ signal: stopped.signal })) return change;
  })();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await finn.add("I have a boat.");
  const change = await first;
  assert.deepEqual(change.turns, [2, 2]);
  assert.equal(change.forgotten, false);
  const thread = finn.thread("friday");
  await thread.hear("Where do I live?");
  let text = "";
  let reply;
  for await (const event of thread.replyStream()) {
    text += event.piece ?? "";
    reply = event.reply ?? reply;
  }
  assert.ok(reply.text && text.trim() === reply.text.trim());
  assert.ok((await finn.reply("Where do I live?")).text);
  stopped.abort();
  const none = await collect(finn.events({ signal: stopped.signal }));
  assert.deepEqual(none, []);
});
