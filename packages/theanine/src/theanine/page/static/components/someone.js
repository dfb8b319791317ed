/** Asks whose memory it is to be, where a store knows nobody yet. */
import { html, useId } from "../core/html.js";
import { navigate } from "../core/route.js";
import { t } from "../core/texts.js";

export function Someone() {
  const id = useId();
  const submit = (event) => {
    event.preventDefault();
    navigate({ user: new FormData(event.currentTarget).get("user").trim() });
  };
  return html`
    <form class="empty" onSubmit=${submit}>
      <h1><label for=${id}>${t("someone")}</label></h1>
      <div class="search">
        <input id=${id} name="user" required maxlength="200" autocomplete="nickname" pattern=".*\\S.*" />
        <button class="primary">${t("next")}</button>
      </div>
    </form>`;
}
