/**
 * The canvas of timelines inside a box that scrolls as any box does: the browser moves, this draws
 * what is visible. Zooming changes the scale of time and lays out again.
 */
import { AXIS, drawFrame, readColors } from "./draw.js";
import { MARGIN, fit, layOut } from "./layout.js";
import { Words } from "./words.js";

/** The mark of the first words, for measuring. */
const DRAWN = "theanine-drawn";
const SETTLING = 220;
const MOST_PER_HOUR = 240;
const WIDEST = 8_000_000;
const HOUR = 3_600_000;
const DRAGGED = 4;
/** Pixels after the last time where it is zoomed in: room for its words. */
const PAD = 260;
/** Parts of a screen on either side that are laid out with it. */
const BESIDE = 0.25;
/** Milliseconds after which the view rests. */
const RESTING = 120;

const countMemories = (topics) => topics.reduce((sum, topic) => sum + topic.memories.length, 0);

export class Surface {
  /**
   * @param {HTMLElement} box scrolls; has an element of the whole size with the canvas in it
   * @param {{onOpen: Function, onTopic: Function, onZoom: Function, onActive: Function}} calls
   */
  constructor(box, calls) {
    this.box = box;
    this.calls = calls;
    this.world = box.firstElementChild;
    this.canvas = this.world.firstElementChild;
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.words = new Words(this.context);
    this.zoom = 1;
    this.targets = [];
    this.before = new Map();
    this.activeId = null;
    this.stops = [];
    const listen = (target, type, call, options) => {
      target.addEventListener(type, call, options);
      this.stops.push(() => target.removeEventListener(type, call, options));
    };
    const observer = new ResizeObserver(() => this.resize());
    observer.observe(box);
    this.stops.push(() => observer.disconnect(), () => cancelAnimationFrame(this.frame));
    listen(box, "scroll", () => this.#scrolled(), { passive: true });
    listen(box, "wheel", (event) => this.#wheel(event), { passive: false });
    listen(box, "pointerdown", (event) => this.#down(event));
    listen(box, "pointermove", (event) => this.#move(event));
    listen(box, "pointerup", (event) => this.#up(event));
    listen(box, "pointercancel", () => this.#end());
    listen(matchMedia("(prefers-color-scheme: dark)"), "change", () => this.recolor());
    this.pointers = new Map();
    this.recolor();
  }

  stop() {
    clearTimeout(this.resting);
    for (const stop of this.stops) stop();
  }

  recolor() {
    this.colors = readColors(this.box);
    this.ask();
  }

  /** Show other data, or the same in another way: `{ graph, topics, asOf, earlier, openId, found }`. */
  update(shown) {
    const isNew = !this.shown || this.shown.topics !== shown.topics || this.shown.found !== shown.found;
    this.shown = shown;
    if (isNew) this.#layOut();
    this.ask();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.box;
    const ratio = devicePixelRatio || 1;
    if (!width || !height) return;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.context.scale(ratio, ratio);
    if (this.shown && width !== this.screen) this.#layOut();
    this.ask(true);
  }

  /** Lay out what is visible at the present zoom, or where the left edge is put. */
  #layOut(left = this.box.scrollLeft) {
    const { graph, topics, found } = this.shown;
    const screen = this.screen = this.box.clientWidth;
    if (!screen) return;
    const count = countMemories(topics);
    const hours = Math.max(1, (graph.to - graph.from) / HOUR);
    const whole = fit(count, screen);
    this.mostZoom = Math.max(1, Math.min(WIDEST, hours * MOST_PER_HOUR) / whole.width);
    this.zoom = Math.min(this.zoom, this.mostZoom);
    const width = whole.width * this.zoom;
    const pad = this.zoom === 1 ? whole.pad : Math.max(PAD, whole.pad);
    const timeAt = (x) => graph.from + ((x - MARGIN) / width) * (graph.to - graph.from);
    const beside = screen * BESIDE;
    const window = this.zoom === 1 ? null
      : { from: timeAt(left - beside), to: timeAt(left + screen + beside), beside: timeAt(beside) - timeAt(0) };
    this.layout = layOut({ topics, from: graph.from, to: graph.to, width, pad, screen, window, found });
    this.seen = window && { from: left - beside, to: left + screen + beside };
    this.world.style.width = `${Math.max(screen, Math.round(this.layout.width))}px`;
    this.world.style.height = `${Math.round(this.layout.height + AXIS)}px`;
    this.calls.onZoom({ zoom: this.zoom, most: this.mostZoom, level: this.layout.level });
  }

  /** Lay out again, and keep a topic where it is if it is still told of; others move. */
  #layOutAround(anchor, left) {
    const offset = anchor ? anchor.y - this.box.scrollTop : 0;
    const places = new Map(this.layout.blocks.map((block) => [block.topic, block.y - this.box.scrollTop]));
    this.#layOut(left);
    this.box.scrollLeft = left;
    const now = anchor && this.layout.blocks.find((block) => block.topic === anchor.topic);
    this.box.scrollTop = now && !now.isBeside ? now.y - offset : 0;
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.before = places;
      this.settled = performance.now() + SETTLING;
    }
    this.ask();
  }

  /** Draw; once the view rests outside of what was laid out, lay out what is visible there. */
  #scrolled() {
    this.ask();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      const { scrollLeft: left } = this.box;
      if (!this.seen || (left >= this.seen.from && left + this.screen <= this.seen.to)) return;
      this.#layOutAround(this.#blockAt(AXIS + 40), left);
    }, RESTING);
  }

  /** Zoom around a point of the screen, by default its middle at the top. */
  zoomTo(zoom, clientX, clientY) {
    const bounds = this.box.getBoundingClientRect();
    const x = (clientX ?? bounds.left + bounds.width / 2) - bounds.left;
    const y = (clientY ?? bounds.top + AXIS + 60) - bounds.top;
    const old = this.layout;
    const wanted = Math.max(1, Math.min(this.mostZoom, zoom));
    if (!old || wanted === this.zoom) return;
    const share = (this.box.scrollLeft + x - old.origin) / old.span;
    this.zoom = wanted;
    const width = fit(countMemories(this.shown.topics), this.screen).width * wanted;
    this.#layOutAround(this.#blockAt(y), Math.max(0, old.origin + share * width - x));
  }

  fit() {
    this.zoomTo(1);
    this.box.scrollTop = 0;
  }

  #blockAt(y) {
    const at = this.box.scrollTop + y - AXIS;
    let best = null;
    for (const block of this.layout.blocks) {
      const visible = block.x + block.width > this.box.scrollLeft && block.x < this.box.scrollLeft + this.screen;
      if (visible && block.y <= at && (!best || block.y > best.y)) best = block;
    }
    return best;
  }

  /** Scroll so that a memory is visible; a topic that has no room for it is at its title. */
  reveal(id) {
    const memory = this.shown.graph.memories.get(id);
    if (!memory || !this.layout) return;
    const { box } = this;
    const room = { x: box.clientWidth, y: box.clientHeight - AXIS };
    const middle = Math.max(0, this.layout.position(memory.time) - room.x / 3);
    if (!this.#find(memory)) this.#layOutAround(null, middle);
    const { block, card } = this.#find(memory) ?? {};
    if (!block) return;
    const [x, y] = [card.x, block.y + card.y];
    if (x < box.scrollLeft || x + Math.min(card.width, this.layout.cardWidth) > box.scrollLeft + room.x) box.scrollLeft = middle;
    if (y < box.scrollTop + 30 || y + card.height > box.scrollTop + room.y) box.scrollTop = y - (room.y - card.height) / 2;
    this.ask();
  }

  #find(memory) {
    const block = this.layout.blocks.find((each) => each.topic.memories.includes(memory));
    return block && { block, card: block.cards.find((each) => each.memory === memory) ?? block.cards.at(-1) };
  }

  /** Draw with the next frame; now if the canvas was cleared. */
  ask(isNow = false) {
    if (isNow) {
      cancelAnimationFrame(this.frame);
      this.frame = 0;
      this.#draw();
    } else {
      this.frame ||= requestAnimationFrame(() => {
        this.frame = 0;
        this.#draw();
      });
    }
  }

  #draw() {
    if (!this.layout || !this.shown) return;
    const began = performance.now();
    const { box, layout, before } = this;
    const [left, top] = [box.scrollLeft, box.scrollTop];
    const rest = Math.max(0, ((this.settled ?? 0) - began) / SETTLING) ** 3;
    if (!rest) before.clear();
    const yOf = (block) => {
      const old = before.get(block.topic);
      return old === undefined ? block.y : block.y + (old + top - block.y) * rest;
    };
    const view = { layout, left, top, width: box.clientWidth, height: box.clientHeight, yOf };
    const { graph, asOf, earlier, openId, found } = this.shown;
    const { isDated, firstDate, mainSpeaker } = graph;
    const look = { asOf, earlier, openId, found, isDated, firstDate, mainSpeaker, colors: this.colors, activeId: this.activeId };
    this.targets = drawFrame(this.context, this.words, view, look);
    if (!this.isDrawn) performance.mark(DRAWN);
    this.isDrawn = true;
    if (rest) this.ask();
  }

  #hit(event) {
    const bounds = this.box.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    return this.targets.findLast((target) =>
      x >= target.x && x <= target.x + target.width && y >= target.y && y <= target.y + target.height);
  }

  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoomTo(this.zoom * Math.exp(-event.deltaY / 200), event.clientX, event.clientY);
  }

  #down(event) {
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.pointers.size === 2) {
      this.pinch = { distance: this.#spread(), zoom: this.zoom };
    } else {
      this.drag = { x: event.clientX, y: event.clientY, left: this.box.scrollLeft, top: this.box.scrollTop, moved: false };
    }
  }

  #spread() {
    const [a, b] = [...this.pointers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y) || 1;
  }

  #move(event) {
    if (!this.pointers.has(event.pointerId)) {
      this.box.style.cursor = this.#hit(event) ? "pointer" : "default";
      return;
    }
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.pinch && this.pointers.size === 2) {
      const [a, b] = [...this.pointers.values()];
      this.drag.moved = true;
      this.zoomTo((this.pinch.zoom * this.#spread()) / this.pinch.distance, (a.x + b.x) / 2, (a.y + b.y) / 2);
      return;
    }
    const { drag } = this;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (Math.hypot(dx, dy) > DRAGGED) drag.moved = true;
    if (event.pointerType === "mouse" && drag.moved) {  // fingers scroll by themselves
      if (!this.box.hasPointerCapture(event.pointerId)) this.box.setPointerCapture(event.pointerId);
      this.box.scrollLeft = drag.left - dx;
      this.box.scrollTop = drag.top - dy;
    }
  }

  #up(event) {
    const hit = !this.drag?.moved && event.button === 0 ? this.#hit(event) : null;
    this.#end(event);
    if (hit?.memory) this.calls.onOpen(hit.memory.id);
    else if (hit?.topic) this.calls.onTopic(hit.topic);
  }

  #end(event) {
    if (event) this.pointers.delete(event.pointerId);
    else this.pointers.clear();
    if (this.pointers.size < 2) this.pinch = null;
  }

  /** Make a memory the one that keys act on. */
  activate(id) {
    const memory = this.shown.graph.memories.get(id);
    this.activeId = memory ? id : null;
    if (memory) this.reveal(id);
    this.calls.onActive(memory);
    this.ask();
  }

  /** Move by a key; return whether the key means something here. */
  key(name) {
    const blocks = [...this.layout.blocks].sort((a, b) => a.y - b.y || a.x - b.x);
    const memories = this.shown.graph.memories;
    const active = memories.get(this.activeId ?? -1);
    const at = blocks.findIndex((block) => block.topic.memories.includes(active));
    const own = at < 0 ? [] : blocks[at].topic.memories;
    const step = (by) => own[own.indexOf(active) + by]?.id ?? null;
    const topic = (index) => blocks[Math.max(0, Math.min(blocks.length - 1, index))]?.topic.memories.at(-1).id;
    const moves = {
      ArrowRight: () => step(1) ?? this.activeId,
      ArrowLeft: () => step(-1) ?? this.activeId,
      ArrowDown: () => topic(at + 1),
      ArrowUp: () => topic(at - 1),
      Home: () => topic(0),
      End: () => topic(blocks.length - 1),
    };
    if (name === "+" || name === "=") this.zoomTo(this.zoom * 1.5);
    else if (name === "-") this.zoomTo(this.zoom / 1.5);
    else if (name === "0") this.fit();
    else if (name === "Enter" && active) this.calls.onOpen(active.id);
    else if (name in moves) this.activate(active ? moves[name]() : topic(0));
    else return false;
    return true;
  }
}
