/** Runs in the browser: what a page of the console has, what it answers to a form, and what is in it that must not be. */

const textOf = (element) => element?.textContent ?? ''

/** Of the console's own form, all but the token and the button that ends the session. */
function readForm(form) {
  const fields = new Map()
  for (const one of form.querySelectorAll('[name]:not(button, [name=formToken])')) {
    const { name, type, required, inputMode } = one
    const options = [...(one.options ?? [])].map(({ value }) => value)
    const known = fields.get(name) ?? { name, type, required, inputMode, options, value: '' }
    if (type === 'checkbox') known.options.push(one.getAttribute('value'))
    else known.value = one.value
    fields.set(name, known)
  }
  return {
    action: form.getAttribute('action') ?? '',
    // A field may have the name of a property.
    method: form.getAttribute('method') ?? 'get',
    isMultipart: form.hasAttribute('enctype'),
    isLook: form.matches('.filters, [enctype]'),
    fields: [...fields.values()],
    buttons: [...form.querySelectorAll('button[name]')].map(({ name, value }) => [name, value]),
  }
}

/** The values that a form shows, whatever a browser would make of them. */
function readValues(root) {
  const values = {}
  for (const one of root.querySelectorAll('main form [name]:not(button)')) {
    const { name, type, tagName } = one
    if (type === 'checkbox') {
      const more = one.hasAttribute('checked') ? [one.getAttribute('value')] : []
      values[name] = [values[name], ...more].filter(Boolean).join(',')
    } else if (tagName === 'SELECT') values[name] = one.value
    else values[name] = tagName === 'TEXTAREA' ? one.textContent : one.getAttribute('value')
  }
  return values
}

/** What the text of others could have become. */
const strange =
  'main script:not([src^="/console/"]), header script, img, iframe, object, style, base, [style], ' +
  '[onerror], [onload], [onclick], a[href^="javascript:" i], a[href^="data:" i], form[action^="javascript:" i]'

/** Of a charting library, which no text of others reaches. */
const drawn = '.chart *'

function readPage(root = document) {
  const alert = root.querySelector('[role=alert]')
  const problems = {}
  for (const one of alert?.querySelectorAll('a[href^="#"]') ?? []) {
    const name = one.getAttribute('href').slice(1)
    const field = root.getElementById(name)
    const label = root.getElementById(`${name}-problem`)
    const isLabeled =
      field?.getAttribute('aria-describedby')?.split(' ').includes(`${name}-problem`) ?? false
    problems[name] = isLabeled ? textOf(label) : ''
  }
  const values = readValues(root)
  return {
    heading: textOf(root.querySelector('h1')),
    alert: textOf(alert),
    problems,
    values,
    text: `${root.title} ${textOf(root.body)} ${Object.values(values).join(' ')}`,
    menu: [...root.querySelectorAll('header nav a')].map(textOf),
    links: [...root.querySelectorAll('a[href^="/console"]')].map((one) => one.getAttribute('href')),
    forms: [...root.querySelectorAll('main form')].map(readForm),
    strange: [...root.querySelectorAll(strange)]
      .filter((one) => !one.matches(drawn))
      .map(({ outerHTML }) => outerHTML.slice(0, 200)),
  }
}

/** Of a file or a stream, only that it came. */
async function answer(request) {
  const response = await request
  const isPage = response.headers.get('content-type')?.startsWith('text/html') ?? false
  const address = response.url.slice(location.origin.length)
  const text = isPage ? await response.text() : ''
  if (!isPage) await response.body?.cancel()
  const page = readPage(new DOMParser().parseFromString(text, 'text/html'))
  return { ...page, status: response.status, address, isPage }
}

const readAddress = (address) => answer(fetch(address))

/** As the button of the form would, with the token of the page that is shown. */
async function sendForm({ action, method, isMultipart }, values) {
  const formToken = document.querySelector('[name=formToken]').value
  const all = Object.entries(method === 'get' ? values : { formToken, ...values })
  if (method === 'get') return await answer(fetch(`${action}?${new URLSearchParams(all)}`))
  const body = isMultipart ? new FormData() : new URLSearchParams()
  for (const [name, value] of all) body.append(name, value)
  return await answer(fetch(action, { method: 'POST', body }))
}

/** Sends a form of the page that is shown as its button does, from a browser that checks nothing and knows no dates. */
function fillAndSend({ action, method }, values) {
  const form = document.querySelector(`form[action="${action}"][method=${method}]`)
  form.noValidate = true
  for (const [name, value] of Object.entries(values)) {
    for (const one of form.querySelectorAll(`[name="${name}"]:not([type=file], button)`)) {
      if (one.type === 'checkbox') {
        one.checked = true
        one.value = value
        continue
      }
      if (one.tagName === 'SELECT') one.append(new Option(value, value))
      if (one.tagName === 'INPUT' && one.type !== 'hidden') one.type = 'text'
      one.value = value
    }
  }
  form.querySelector('button:not([type=button])').click()
}

globalThis.pages = { readPage, readAddress, sendForm, fillAndSend }
