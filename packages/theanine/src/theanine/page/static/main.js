/** The page as it is served. */
import { start } from "./app.js";
import { VIEWS } from "./views/index.js";

start(VIEWS);
