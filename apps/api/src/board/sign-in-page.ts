/**
 * The sign-in page for a browser that opens the board without a session. It loads nothing from other servers, and its only script is
 * allowed by its hash.
 */
import { createHash } from "node:crypto";

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:4rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
label{display:block;margin:.75rem 0}input{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.4rem}
button{font:inherit;padding:.4rem 1rem}[role=alert]{color:#b00020;min-height:1.5em}fieldset{border:1px solid #ccc;margin:1rem 0}`;

const script = `for (const form of document.forms) form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = JSON.stringify(Object.fromEntries(new FormData(form)));
  const answer = await fetch("/v1/session", { method: "POST", headers: { "content-type": "application/json" }, body });
  if (answer.ok) location.reload();
  else document.querySelector("[role=alert]").textContent = (await answer.json()).title;
});`;

const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

export const signInPolicy = `default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export const signInPage = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Markmill board: log in</title><style>${style}</style>
<h1>Markmill board</h1><p>For people who operate the installation (role ops).</p><p role="alert"></p>
<form><fieldset><legend>With a key</legend><label>Key <input name="key" type="password" required autocomplete="off"></label>
<button>Log in</button></fieldset></form>
<form><fieldset><legend>With a name</legend><label>Name <input name="name" required autocomplete="username"></label>
<label>Password <input name="password" type="password" required autocomplete="current-password"></label>
<label>Tenant <input name="tenant" value="default" required></label><button>Log in</button></fieldset></form>
<script>${script}</script></html>`;
