/** The views of the page, in the order of the navigation. */
import Find from "./find.js";
import Import from "./import.js";
import Keys from "./keys.js";
import Operate from "./operate.js";
import Review from "./review.js";
import Talk from "./talk.js";
import Timelines from "./timelines.js";
import Why from "./why.js";

export const VIEWS = [
  { id: "timelines", title: "nav.timelines", View: Timelines },
  { id: "find", title: "nav.find", View: Find },
  { id: "why", title: "nav.why", View: Why },
  { id: "talk", title: "nav.talk", right: "write", View: Talk },
  { id: "import", title: "nav.import", right: "administer", View: Import },
  { id: "review", title: "nav.review", View: Review },
  { id: "operate", title: "nav.operate", View: Operate },
  { id: "keys", title: "nav.keys", right: "administer", View: Keys },
];
