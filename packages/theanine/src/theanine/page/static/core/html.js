/** preact with htm: `html` writes elements as tagged templates, so that nothing has to be built. */
import { h, render } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export const html = htm.bind(h);
export { render };
export {
  useCallback, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState,
} from "../vendor/hooks.js";
