/** The canvas of timelines with its zoom buttons, and what it says to screen readers. */
import { IconButton } from "./basics.js";
import { describeOrigin, describeState } from "./memory.js";
import { html, useId, useLayoutEffect, useRef, useState } from "../core/html.js";
import { settings } from "../core/settings.js";
import { useStore } from "../core/store.js";
import { t, useLanguage } from "../core/texts.js";
import { findReason } from "../timeline/draw.js";
import { Surface } from "../timeline/surface.js";

/** What a screen reader says of a memory that the keys have come to. */
function describe(memory) {
  const reason = findReason(memory);
  return [memory.topic.title, reason && t(`relation.${reason}`), memory.words, describeOrigin(memory), describeState(memory)]
    .filter(Boolean).join(". ");
}

/**
 * Topics over time. `shown` is `{ graph, topics, asOf, earlier, openId, found }`: which topics, what
 * was known at `asOf`, what is new since `earlier` (or null), and which memories were found.
 */
export function Timeline({ shown, onOpen, onTopic }) {
  const box = useRef(null);
  const surface = useRef(null);
  const calls = useRef({});
  const hint = useId();
  const [state, setState] = useState({ zoom: 1, most: 1 });
  const [spoken, setSpoken] = useState("");
  const { theme } = useStore(settings);
  const language = useLanguage();
  calls.current = { onOpen, onTopic };
  useLayoutEffect(() => {
    surface.current = new Surface(box.current, {
      onOpen: (id) => calls.current.onOpen(id),
      onTopic: (topic) => calls.current.onTopic(topic),
      onZoom: setState,
      onActive: (memory) => setSpoken(memory ? describe(memory) : ""),
    });
    return () => surface.current.stop();
  }, []);
  useLayoutEffect(() => surface.current.update(shown));
  useLayoutEffect(() => surface.current.recolor(), [theme, language]);
  // Before the words are painted: a key that is pressed as soon as they show moves from here.
  useLayoutEffect(() => {
    surface.current.activate(shown.openId);
  }, [shown.openId, shown.graph]);
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (surface.current.key(event.key)) event.preventDefault();
  };
  const zoom = (factor) => surface.current.zoomTo(surface.current.zoom * factor);
  return html`
    <div class="timeline">
      <div class="timeline-box" ref=${box} tabindex="0" role="application" aria-label=${t("timeline.label")}
        aria-describedby=${hint} onKeyDown=${onKeyDown}>
        <div class="timeline-world"><canvas aria-hidden="true"></canvas></div>
      </div>
      <p id=${hint} class="hidden">${t("timeline.keys")}</p>
      <p class="hidden" role="status" aria-live="polite">${spoken}</p>
      <div class="zoom" role="group" aria-label=${t("zoom")}>
        <${IconButton} name="minus" label=${t("zoom.out")} disabled=${state.zoom <= 1} onClick=${() => zoom(1 / 1.6)} />
        <${IconButton} name="fit" label=${t("zoom.fit")} disabled=${state.zoom <= 1} onClick=${() => surface.current.fit()} />
        <${IconButton} name="plus" label=${t("zoom.in")} disabled=${state.zoom >= state.most} onClick=${() => zoom(1.6)} />
      </div>
    </div>`;
}
