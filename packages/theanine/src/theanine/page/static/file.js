/** The page as one file: timelines, conversations and search of the data inside it. */
import { start } from "./app.js";
import { readFile } from "./core/embedded.js";
import { source } from "./core/source.js";
import Conversations from "./views/conversations.js";
import Find from "./views/find.js";
import Timelines from "./views/timelines.js";

source.set(readFile(JSON.parse(document.getElementById("data").textContent)));
start([
  { id: "timelines", title: "nav.timelines", icon: "timelines", View: Timelines },
  { id: "conversations", title: "nav.conversations", icon: "conversations", View: Conversations },
  { id: "find", title: "nav.find", View: Find, isListed: false },
]);
