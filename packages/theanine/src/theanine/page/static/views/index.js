/** The views of the page, in the order of the navigation: those of people, then of who runs the service. */
import Conversations from "./conversations.js";
import Entity from "./entity.js";
import Find from "./find.js";
import Home from "./home.js";
import Import from "./import.js";
import Keys from "./keys.js";
import Operate from "./operate.js";
import Review from "./review.js";
import Talk from "./talk.js";
import Timelines from "./timelines.js";
import Why from "./why.js";

export const VIEWS = [
  { id: "home", title: "nav.home", icon: "home", View: Home },
  { id: "conversations", title: "nav.conversations", icon: "conversations", View: Conversations },
  { id: "timelines", title: "nav.timelines", icon: "timelines", View: Timelines },
  { id: "talk", title: "nav.talk", icon: "talk", right: "write", View: Talk },
  { id: "find", title: "nav.find", View: Find, isListed: false },
  { id: "entity", title: "nav.entity", View: Entity, isListed: false },
  { id: "why", title: "nav.why", View: Why },
  { id: "import", title: "nav.import", right: "administer", View: Import },
  { id: "review", title: "nav.review", View: Review },
  { id: "operate", title: "nav.operate", View: Operate },
  { id: "keys", title: "nav.keys", right: "administer", View: Keys },
];
