/** The frame of the page: signing in, whose memory is shown, the views. */
import { Dialog, ErrorBox, Icon, IconButton, Leaf, Loading, Notices, Select } from "./components/basics.js";
import { Forgotten } from "./components/forgetting.js";
import { SearchBox } from "./components/search_box.js";
import { post, remove } from "./core/api.js";
import { html, render, useEffect, useErrorBoundary, useId, useRef, useState } from "./core/html.js";
import { reload, useResource } from "./core/resource.js";
import { currentRoute, formatRoute, navigate, useRoute } from "./core/route.js";
import { changeSettings, settings } from "./core/settings.js";
import { source } from "./core/source.js";
import { useStore } from "./core/store.js";
import { follow } from "./core/live.js";
import { directionOf, LANGUAGES, t, useLanguage } from "./core/texts.js";

const MOST_LISTED = 200;

/** Who a route is about; the first user where it names none. */
function findWho(params, users) {
  if (params.user) return { user: params.user, agent: params.agent ?? "default" };
  return users.length ? { user: users[0].user, agent: users[0].agent } : null;
}

const Brand = () => html`<span class="brand"><${Leaf} /><span>theanine</span></span>`;

/** What is shown in place of all views. */
const Apart = ({ children }) => html`
  <header class="bar"><${Brand} /></header>
  <main><h1 class="hidden">theanine</h1>${children}</main>`;

function SignIn({ problem }) {
  const [failure, setFailure] = useState(null);
  const id = useId();
  if (problem.code === "link_needed" || problem.code === "link_used") {
    return html`<main class="sign-in"><h1>theanine</h1><p role="alert">${t(`sign_in.${problem.code}`)}</p>
      <p><code>theanine open</code></p></main>`;
  }
  const submit = (event) => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get("key").trim();
    post("/v1/session", { token }).then(() => reload(), setFailure);
  };
  return html`
    <main class="sign-in">
      <h1>theanine</h1>
      <p>${t("sign_in.about")}</p>
      <form onSubmit=${submit}>
        <label for=${id}>${t("sign_in.key")}</label>
        <input id=${id} name="key" type="password" required autocomplete="current-password" spellcheck=${false} />
        <button class="primary">${t("sign_in.do")}</button>
      </form>
      ${failure && html`<p role="alert" class="failure">${failure.detail}</p>`}
      <p class="quiet"><code>theanine keys create --name page</code></p>
    </main>`;
}

function WhoPicker({ users, who }) {
  const name = ({ user, agent }) => (agent === "default" ? user : `${user} · ${agent}`);
  const listId = useId();
  const go = (scope) => navigate({ user: scope.user, agent: scope.agent === "default" ? null : scope.agent,
    memory: null, session: null, turn: null, entity: null, q: null });
  if (!who && !users.length) return null;
  if (users.length === 1 && who && name(users[0]) === name(who)) {
    return html`<span class="who">${name(who)}</span>`;
  }
  if (users.length > MOST_LISTED) {
    const pick = (event) => {
      const scope = users.find((each) => name(each) === event.currentTarget.value);
      if (scope) go(scope);
    };
    return html`<input class="who" list=${listId} aria-label=${t("who")} value=${who ? name(who) : ""} onChange=${pick} />
      <datalist id=${listId}>${users.map((each) => html`<option value=${name(each)} />`)}</datalist>`;
  }
  const key = (scope) => JSON.stringify([scope.user, scope.agent]);
  const listed = who && !users.some((each) => key(each) === key(who)) ? [who, ...users] : users;
  return html`<${Select} label=${t("who")} hideLabel value=${who ? key(who) : ""}
    options=${listed.map((each) => [key(each), name(each)])}
    onChange=${(value) => { const [user, agent] = JSON.parse(value); go({ user, agent }); }} />`;
}

function SettingsDialog({ session, onClose }) {
  const { theme = "", language = "" } = useStore(settings);
  const signOut = () => remove("/v1/session").then(() => location.reload());
  return html`
    <${Dialog} title=${t("settings")} onClose=${onClose}>
      <div class="fields">
        <${Select} label=${t("settings.language")} value=${language} onChange=${(value) => changeSettings({ language: value || null })}
          options=${[["", t("settings.automatic")], ...Object.entries(LANGUAGES).map(([code, texts]) => [code, texts.language])]} />
        <${Select} label=${t("settings.theme")} value=${theme} onChange=${(value) => changeSettings({ theme: value || null })}
          options=${[["", t("settings.automatic")], ["light", t("settings.light")], ["dark", t("settings.dark")]]} />
      </div>
      ${session?.key && html`<p class="quiet">${t("settings.key", { key: session.key, tenant: session.tenant })}
        <button type="button" onClick=${signOut}>${t("settings.sign_out")}</button></p>`}
    <//>`;
}

/** A view; what it throws is shown in its place. */
function ViewFrame({ View, ...props }) {
  const [error, reset] = useErrorBoundary((thrown) => console.error(thrown));
  if (error) return html`<${ErrorBox} problem=${error} retry=${reset} />`;
  return html`<${View} ...${props} />`;
}

/** The views of people as links, the others in a menu; on a phone both are at the lower edge. */
function Navigation({ views, view }) {
  const menu = useRef(null);
  const [main, more] = [views.filter(({ icon }) => icon), views.filter(({ icon, isListed = true }) => !icon && isListed)];
  const close = () => menu.current && (menu.current.open = false);
  useEffect(close, [view]);
  useEffect(() => {
    const onEvent = (event) => {
      if (!menu.current?.open || (event.type === "click" && menu.current.contains(event.target))) return;
      if (event.type === "keydown" && event.key !== "Escape") return;
      if (event.type === "keydown") menu.current.querySelector("summary").focus();
      close();
    };
    for (const type of ["click", "keydown"]) document.addEventListener(type, onEvent);
    return () => ["click", "keydown"].forEach((type) => document.removeEventListener(type, onEvent));
  }, []);
  const { user, agent } = useRoute().params;  // of the rest, each view begins anew
  const link = (each) => html`<a key=${each.id} href=${formatRoute({ view: each.id, params: { user, agent } })} aria-current=${each === view ? "page" : undefined}>
    ${each.icon && html`<${Icon} name=${each.icon} />`}<span>${t(each.title)}</span></a>`;
  return html`
    <nav aria-label=${t("nav")}>
      ${main.map(link)}
      ${more.length > 0 && html`<details ref=${menu} class="menu">
        <summary class=${more.includes(view) ? "current" : ""}><${Icon} name="more" /><span>${more.includes(view) ? t(view.title) : t("nav.more")}</span></summary>
        <div class="menu-items">${more.map(link)}</div></details>`}
    </nav>`;
}

function Frame({ views, session, users }) {
  const { view: id, params } = useRoute();
  const [isOpen, setOpen] = useState(false);
  const who = findWho(params, users);
  const allowed = views.filter((view) => !view.right || session.rights.includes(view.right));
  const view = allowed.find((each) => each.id === id) ?? allowed[0];
  useEffect(() => (who && !source.get().isFile ? follow(who) : undefined), [who?.user, who?.agent]);
  useEffect(() => {
    document.title = `${t(view.title)} – ${who ? `${who.user} – ` : ""}theanine`;
  });
  return html`
    <a class="skip" href="#view" onClick=${(event) => { event.preventDefault(); document.getElementById("view").focus(); }}>${t("skip")}</a>
    <header class="bar">
      <${Brand} />
      <${WhoPicker} users=${users} who=${who} />
      <${Navigation} views=${allowed} view=${view} />
      <${SearchBox} who=${who} />
      <${IconButton} name="settings" label=${t("settings")} onClick=${() => setOpen(true)} />
    </header>
    <${Forgotten} who=${who} />
    <main id="view" tabindex="-1" class=${`view-${view.id}`}>
      <${ViewFrame} key=${`${view.id} ${who?.user} ${who?.agent}`} View=${view.View} who=${who} params=${params} session=${session} />
    </main>
    ${isOpen && html`<${SettingsDialog} session=${session} onClose=${() => setOpen(false)} />`}
    <${Notices} />`;
}

/** Sign in by the one-time link in the address, if it has one, and take it out of there. */
async function signInByLink() {
  const { link } = currentRoute().params;
  if (link) {
    navigate({ link: null }, { replace: true });
    await post("/v1/session", { token: link });
  }
  return true;
}

function App({ views }) {
  const code = useLanguage();
  const { theme } = useStore(settings);
  document.documentElement.lang = code;
  document.documentElement.dir = directionOf(code);
  document.documentElement.dataset.theme = theme ?? "";
  const from = useStore(source);
  const link = useResource("link", signInByLink);
  const session = useResource(link.value ? "session" : null, from.whoami);
  const users = useResource(link.value ? "users" : null, from.users);
  const { problem, reload: retry } = link.problem ? link : session;
  if (problem?.status === 401) return html`<${SignIn} problem=${problem} />`;
  if (problem) return html`<${Apart}><${ErrorBox} problem=${problem} retry=${retry} /><//>`;
  if (session.value && users.problem) return html`<${Apart}><${ErrorBox} problem=${users.problem} retry=${users.reload} /><//>`;
  if (!session.value || !users.value) return html`<${Apart}><${Loading} /><//>`;
  return html`<${Frame} views=${views} session=${session.value} users=${users.value} />`;
}

/**
 * Draw the page. `views` are `{ id, title, icon, View, right, isListed }`: the name in the address, the key of
 * its text, its icon if it is one for people, its component, the right of a key without which it
 * is not offered, and whether the menu has it. The component gets
 * `{ who, params, session }`; `who` is null where there are no users yet.
 */
export function start(views) {
  render(html`<${App} views=${views} />`, document.getElementById("app"));
}
