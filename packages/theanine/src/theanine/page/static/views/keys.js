/** Keys: who may use the service, for administrators; a new key is shown once. */
import { Dialog, Loaded, notify } from "../components/basics.js";
import { notifyProblem } from "../components/forgetting.js";
import { Table } from "../components/table.js";
import { get, post, remove } from "../core/api.js";
import { html, useId, useState } from "../core/html.js";
import { reload, useResource } from "../core/resource.js";
import { formatDate, t, wallTime } from "../core/texts.js";

const RIGHTS = ["read", "write", "reply", "administer"];

function NewKey({ onCreated }) {
  const id = useId();
  const submit = (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const given = new FormData(form);
    const text = (name) => given.get(name).trim() || undefined;
    post("/v1/keys", { name: text("name"), user: text("user"), agent: text("agent"), rights: given.getAll("rights"),
      expires_at: text("expires") && `${text("expires")}T23:59:59Z` }).then((created) => {
      form.reset();
      reload("keys");
      onCreated(created);
    }, notifyProblem);
  };
  return html`
    <form class="key-form" onSubmit=${submit}>
      ${["name", "user", "agent", "expires"].map((name) => html`
        <label class="field-label" for=${`${id}${name}`}>${t(`keys.${name}`)}</label>
        <input id=${`${id}${name}`} name=${name} required=${name === "name"} autocomplete="off"
          type=${name === "expires" ? "date" : "text"} placeholder=${["user", "agent"].includes(name) ? t("keys.all") : undefined} />`)}
      <span class="field-label" id=${`${id}rights`}>${t("keys.rights")}</span>
      <span class="row checks" role="group" aria-labelledby=${`${id}rights`}>${RIGHTS.map((right) => html`
        <label><input type="checkbox" name="rights" value=${right} defaultChecked=${right === "read" || right === "write"} /> ${t(`right.${right}`)}</label>`)}</span>
      <span></span><span><button class="primary">${t("keys.create")}</button></span>
    </form>`;
}

const NewToken = ({ created, onClose }) => html`
  <${Dialog} title=${t("keys.created")} onClose=${onClose}>
    <p>${t("keys.once")}</p>
    <pre tabindex="0"><code>${created.token}</code></pre>
    <div class="row">
      <button type="button" class="primary" onClick=${() => navigator.clipboard.writeText(created.token).then(() => notify(t("keys.copied")))}>${t("keys.copy")}</button>
      <button type="button" onClick=${onClose}>${t("close")}</button>
    </div>
  <//>`;

function Revoke({ apiKey, onClose }) {
  const revoke = () => remove(`/v1/keys/${apiKey.id}`).then(() => {
    onClose();
    notify(t("keys.revoked_now", { name: apiKey.name }));
    reload("keys");
  }, notifyProblem);
  return html`
    <${Dialog} title=${t("keys.revoke_title", { name: apiKey.name })} onClose=${onClose}>
      <p>${t("keys.revoke_about")}</p>
      <div class="row"><button type="button" class="danger" onClick=${revoke}>${t("keys.revoke")}</button>
        <button type="button" onClick=${onClose}>${t("cancel")}</button></div>
    <//>`;
}

const stateOf = (key) => (key.revoked_at ? "revoked" : key.expires_at && Date.parse(key.expires_at) < Date.now() ? "expired" : "valid");

export default function Keys({ session }) {
  const keys = useResource("keys", () => get("/v1/keys"));
  const [created, setCreated] = useState(null);
  const [revoked, setRevoked] = useState(null);
  return html`
    <div class="main-column wide">
      <h1>${t("nav.keys")}</h1>
      <p class="quiet">${t("keys.tenant", { tenant: session.tenant })}</p>
      <h2>${t("keys.new")}</h2>
      <${NewKey} onCreated=${setCreated} />
      <h2>${t("keys.list")}</h2>
      <${Loaded} from=${keys}>${(list) => (list.length ? html`<${Table} caption=${t("keys.list")} rows=${[...list].reverse()} rowKey=${({ id }) => id} columns=${[
        [t("keys.name"), (key) => key.name],
        [t("keys.opens"), (key) => [key.user ?? t("keys.all"), key.agent].filter(Boolean).join(" · ")],
        [t("keys.rights"), (key) => key.rights.map((right) => t(`right.${right}`)).join(", ")],
        [t("keys.made"), (key) => formatDate(wallTime(key.created_at))],
        [t("keys.expires"), (key) => (key.expires_at ? formatDate(wallTime(key.expires_at)) : "–")],
        [t("state"), (key) => t(`keys.${stateOf(key)}`)],
        [t("acts"), (key) => stateOf(key) === "valid" && (key.id === session.key ? html`<span class="quiet">${t("keys.own")}</span>`
          : html`<button type="button" class="danger" aria-label=${`${t("keys.revoke")}: ${key.name}`} onClick=${() => setRevoked(key)}>${t("keys.revoke")}</button>`)],
      ]} />` : html`<p class="quiet">${t("keys.none")}</p>`)}<//>
      ${created && html`<${NewToken} created=${created} onClose=${() => setCreated(null)} />`}
      ${revoked && html`<${Revoke} apiKey=${revoked} onClose=${() => setRevoked(null)} />`}
    </div>`;
}
