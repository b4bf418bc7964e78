/** Walks the pages of the console in a browser as somebody does: by their links, and by the forms that only look for something. */
import { fileURLToPath } from 'node:url'
import type { Page as Tab } from 'playwright-core'
import { expect } from 'vitest'
import { allPages } from '../../src/console/pages/all-pages.js'
import type { Visitor } from './browser.js'

interface FormField {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly inputMode: string
  /** Of a choice, or of boxes. */
  readonly options: readonly string[]
  readonly value: string
}

export interface ReadForm {
  readonly action: string
  readonly method: 'get' | 'post'
  readonly isMultipart: boolean
  /** Only looks for something, or shows what would be done. */
  readonly isLook: boolean
  readonly fields: readonly FormField[]
  readonly buttons: readonly (readonly [name: string, value: string])[]
}

export interface ReadPage {
  readonly heading: string
  readonly alert: string
  /** What is said at each field that the alert links to; empty if a field has no such text, or does not refer to it. */
  readonly problems: Readonly<Record<string, string>>
  /** What the forms show, by the names of the fields. */
  readonly values: Readonly<Record<string, string>>
  readonly text: string
  readonly menu: readonly string[]
  readonly links: readonly string[]
  readonly forms: readonly ReadForm[]
  /** Elements that no page has by itself. */
  readonly strange: readonly string[]
}

export interface AnswerPage extends ReadPage {
  readonly status: number
  readonly address: string
  /** False for a file or a stream. */
  readonly isPage: boolean
}

export type Values = Readonly<Record<string, string>>

const reader = fileURLToPath(new URL('read-page.mjs', import.meta.url))

/** To be called before the first page is opened. */
export const addReader = ({ context }: Visitor) => context.addInitScript({ path: reader })

const call = async <Result>(tab: Tab, name: string, ...given: readonly unknown[]) =>
  await tab.evaluate<Result>(`pages.${name}(${given.map((one) => JSON.stringify(one)).join(', ')})`)

export const readPage = (tab: Tab) => call<ReadPage>(tab, 'readPage')
export const readAddress = (tab: Tab, address: string) =>
  call<AnswerPage>(tab, 'readAddress', address)
/** Resolves when the answer is shown. */
export async function fillAndSend(tab: Tab, form: ReadForm, values: Values): Promise<void> {
  await Promise.all([tab.waitForEvent('load'), call(tab, 'fillAndSend', form, values)])
}
export const sendForm = (tab: Tab, form: ReadForm, values: Values) =>
  call<AnswerPage>(tab, 'sendForm', form, values)

const patterns = allPages.map(({ path }) => ({
  path,
  matches: new RegExp(`^/console${path.replaceAll(/:\w+/g, '[^/]+')}$`),
}))

/** The path of the page that answers there, such as `/keys/:id`; `undefined` outside the pages. */
export function findPattern(address: string): string | undefined {
  const [path = ''] = address.split(/[?#]/)
  return patterns.find(({ matches }) => matches.test(path))?.path
}

/** Told apart by where they are sent and what they ask for. */
export const nameForm = ({ action, method, fields }: ReadForm) =>
  `${method} ${findPattern(action)} ${fields.map(({ name }) => name).join()}`

/** Right values by the name of a field, where its kind does not say what is right. */
const rightValues: Values = {
  phoneList: '2127365090\n2127365091',
  number: '2127365006',
  region: 'FL',
  ...{ monFri: '09:00-19:00', sat: 'none', sun: 'none' },
}

const rowsByPattern: Values = {
  '/consents/many':
    'number,givenAt,seller,channel,method,wording\n2127365092,2026-11-20T10:00:00Z,Acme,web,written,I agree',
  '/caller-ids/many': 'number,owner,proof\n2127365093,Acme,invoice 1',
}

/** Of no number and label there may be two. */
let filled = 0

/** What a person would send, with as little as is needed, and `more` where the form has such a field. */
export function fillRight(
  { action, fields, buttons }: ReadForm,
  more: Values = {},
): Record<string, string> {
  filled += 1
  const rows = rowsByPattern[findPattern(action) ?? '']
  const required: Values = {
    tel: '2127365006',
    date: '2026-11-20',
    'datetime-local': '2026-11-20T10:00',
  }
  const values = fields.map((field): [string, string] => {
    const { name, type, options, value } = field
    if (more[name] !== undefined) return [name, more[name]]
    if (type === 'hidden' || type === 'file' || value !== '') return [name, value]
    if (type === 'checkbox') return [name, options.join(',')]
    if (name === 'rows' && rows !== undefined) return [name, rows]
    if (field.required) return [name, rightValues[name] ?? required[type] ?? `words-${filled}`]
    return [name, rightValues[name] ?? '']
  })
  return Object.fromEntries([...values, ...buttons.slice(0, 1)])
}

/** Wrong in every field. */
export const fillWrong = ({ fields }: ReadForm): Values =>
  Object.fromEntries(fields.map((field) => [field.name, listWrong(field).at(-1) ?? '']))

/** Each breaks a rule of any such field. */
export function listWrong({ type, required, inputMode }: FormField): readonly string[] {
  const empty = required ? [' '] : []
  if (type === 'file') return []
  if (type === 'hidden') return ['tampered']
  if (type === 'tel') return [...empty, 'letters', '9'.repeat(400)]
  if (type === 'date') return [...empty, 'no day', '2026-13-45']
  if (type === 'datetime-local') return [...empty, 'no day', '2026-13-45T10:00']
  if (type === 'select-one' || type === 'checkbox') return ['not offered']
  if (inputMode === 'numeric') return [...empty, 'many', '-1', '9'.repeat(30)]
  return [...empty, 'x'.repeat(20_000)]
}

interface FoundForm {
  readonly form: ReadForm
  /** Of a page that shows it; absent if another form leads to it. */
  readonly address?: string
}

/** Of each page two that were found. */
export const listAddresses = ({ addresses }: Walk): readonly string[] =>
  [...addresses.values()].flatMap((all) => [...all].slice(0, 2))

export interface Walk {
  /** Of each page, by its path. */
  readonly addresses: ReadonlyMap<string, ReadonlySet<string>>
  readonly forms: ReadonlyMap<string, FoundForm>
  /** Paths of pages that were asked for, or that a form is sent to. */
  readonly reached: ReadonlySet<string>
  /** All texts that were shown. */
  readonly texts: readonly string[]
}

/** Further addresses of one page show nothing new. */
const mostOfPattern = 6

/** `check` gets each page; `isFirst` of its path. The visitor must be signed in. */
export async function walkConsole(
  visitor: Visitor,
  url: string,
  check: (page: ReadPage, isFirst: boolean) => Promise<void>,
): Promise<Walk> {
  const { page: tab } = visitor
  const addresses = new Map<string, Set<string>>()
  const forms = new Map<string, FoundForm>()
  const reached = new Set<string>()
  const texts: string[] = []
  const toOpen: string[] = ['/console']
  const note = (address: string) => {
    const pattern = findPattern(address)
    if (pattern === undefined) return
    const known = addresses.get(pattern) ?? new Set()
    addresses.set(pattern, known)
    if (known.has(address) || known.size >= mostOfPattern) return
    known.add(address)
    toOpen.push(address)
  }
  const noteForms = (found: readonly ReadForm[], address?: string) => {
    const fresh = found.filter((form) => !forms.has(nameForm(form)))
    for (const form of fresh) {
      forms.set(nameForm(form), { form, ...(address !== undefined && { address }) })
      reached.add(findPattern(form.action) ?? '')
    }
    return fresh
  }
  tab.on('request', (request) => {
    reached.add(findPattern(request.url().slice(url.length)) ?? '')
  })
  for (let address = toOpen.shift(); address !== undefined; address = toOpen.shift()) {
    if (!(await openPage(tab, url + address))) continue
    const page = await readPage(tab)
    const pattern = findPattern(address) ?? ''
    await check(page, !texts.some((text) => text.startsWith(`${pattern}\n`)))
    texts.push(`${pattern}\n${page.text}`)
    page.links.forEach(note)
    for (const form of noteForms(page.forms, address).filter(({ isLook }) => isLook)) {
      const answer = await sendForm(tab, form, fillRight(form))
      expect(answer.alert, `${form.action} ${answer.text}`).toBe('')
      note(answer.address)
      noteForms(answer.forms)
      texts.push(answer.text)
    }
  }
  return { addresses, forms, reached, texts }
}

/** False for what is no page: a file or a stream. */
async function openPage(tab: Tab, address: string): Promise<boolean> {
  try {
    const response = await tab.goto(address)
    return response?.headers()['content-type']?.startsWith('text/html') ?? false
  } catch (cause) {
    if (String(cause).includes('Download is starting')) return false
    throw cause
  }
}
