/** The frame of every page of the console. */
import { version } from '../config/version.js'
import type { Caller } from '../domain/caller.js'
import type { AppError } from '../errors.js'
import { assets } from './assets.js'
import { renderDone, renderRefusal } from './forms.js'
import { type Html, html, nothing } from './html.js'

export interface PageContent {
  readonly title: string
  readonly body: Html
  /** Why what was asked for by the address is not shown. */
  readonly refusal?: AppError | undefined
}

export interface Frame {
  /** Absent on pages for people who are not signed in. */
  readonly caller?: Caller | undefined
  /** To be sent with each form. */
  readonly formToken: string
  /** Of the page, such as `/console/search`. */
  readonly path: string
  /** What was done. */
  readonly done?: string | undefined
  /** Why nothing was done. */
  readonly refusal?: AppError | undefined
}

export interface NavigationEntry {
  readonly path: string
  readonly name: string
}

export function renderPage(
  { title, body, refusal: refused }: PageContent,
  { caller, formToken, path, done, refusal }: Frame,
  navigation: readonly NavigationEntry[],
): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - callgate</title>
<link rel="stylesheet" href="${assets.style.path}">
<link rel="icon" href="data:,">
<script src="${assets.script.path}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<p class="brand"><a href="/console">callgate</a></p>
${caller ? renderNavigation(navigation, path) : nothing}
${
  caller
    ? html`<form class="session" method="post" action="/console/sign-out">
<span>Account <b>${caller.accountId}</b>, ${caller.session?.person ?? caller.keyId}, ${caller.session?.personRole ?? caller.role}</span>
${renderFormToken(formToken)}
<button class="quiet">Sign out</button>
</form>`
    : html`<nav aria-label="Pages"><ul><li><a href="/console/sign-in">Sign in</a></li></ul></nav>`
}
</header>
<main id="content" tabindex="-1">
<h1>${title}</h1>
${renderDone(done)}${renderRefusal(refusal ?? refused)}
${body}
</main>
<footer><p>callgate ${version}. <a href="/docs">API</a>. All times are UTC unless a page says otherwise.</p></footer>
</body>
</html>
`
  return page.toString()
}

function renderNavigation(entries: readonly NavigationEntry[], path: string): Html {
  const renderEntry = ({ path: to, name }: NavigationEntry) => {
    const isHere = path === to || path.startsWith(`${to}/`)
    return html`<li><a href="${to}"${isHere ? html` aria-current="page"` : nothing}>${name}</a></li>`
  }
  return html`<nav aria-label="Pages"><ul>${entries.map(renderEntry)}</ul></nav>`
}

/** The pages of one group; `here` is the path of the one that is shown. */
export function renderSections(
  label: string,
  sections: readonly NavigationEntry[],
  here: string,
): Html {
  return html`<nav class="sections" aria-label="${label}"><ul>${sections.map(
    ({ path, name }) =>
      html`<li><a href="${path}"${path === here ? html` aria-current="page"` : nothing}>${name}</a></li>`,
  )}</ul></nav>`
}

export function renderFormToken(formToken: string): Html {
  return html`<input type="hidden" name="formToken" value="${formToken}">`
}
