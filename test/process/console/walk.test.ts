/**
 * Every page of the console in a real Chromium, found by its links and forms: with hostile texts in all that comes from data, with wrong
 * input, for each role, and for another account.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { getListsFolder } from '../../../src/app/data-folders.js'
import { allPages } from '../../../src/console/pages/all-pages.js'
import { importList } from '../../../src/data/number-list/import/list-import.js'
import { systemClock } from '../../../src/runtime/runtime.js'
import type { NewApiKey } from '../../../src/service/accounts/api-keys.js'
import {
  expectSound,
  openBrowser,
  openVisitor,
  signIn,
  type Visitor,
} from '../../support/browser.js'
import { fillConsole } from '../../support/console-data.js'
import {
  type AnswerPage,
  addReader,
  fillAndSend,
  fillRight,
  fillWrong,
  findPattern,
  listAddresses,
  listWrong,
  nameForm,
  type ReadForm,
  readAddress,
  readPage,
  sendForm,
  type Walk,
  walkConsole,
} from '../../support/console-walk.js'
import {
  clientSecret,
  oidcEnvironment,
  openIdentityProvider,
  type TestIdentityProvider,
} from '../../support/identity-provider.js'
import { mondayNoon, openTestCallgate, type TestCallgate } from '../../support/test-callgate.js'
import { shareLists } from '../../support/two-accounts.js'

const folder = mkdtempSync(join(tmpdir(), 'callgate-walk-'))
const secretFile = join(folder, 'client-secret')
writeFileSync(secretFile, clientSecret, { mode: 0o600 })

/** The texts that account main has, which nobody else may see. */
const texts: string[] = []

/** Markup, a template, an address that is a script, text from right to left, and a word that is as long as may be. */
function hostile(field: string, maxLength: number, kind?: 'word' | 'address'): string {
  const start = kind === 'address' ? `https://example.com/${field}` : field
  const markup = 'OfMain"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}'
  const end = `javascript:alert(3)${kind ? '' : '\u202E'}${'w'.repeat(300)}`
  const whole = `${start} ${markup} ${end}`
  const text = (kind ? whole.replaceAll(' ', '/') : whole).slice(0, maxLength)
  texts.push(text)
  return text
}

let provider: TestIdentityProvider
let running: TestCallgate
let browser: Browser
let walk: Walk
/** The key of an Administrator of account other. */
let stranger: string
beforeAll(async () => {
  provider = await openIdentityProvider()
  running = await openTestCallgate({
    environment: {
      ...oidcEnvironment(provider.issuer, secretFile),
      CALLGATE_TWO_PEOPLE_FOR: '["remove-opt-outs"]',
      CALLGATE_CALLING_HOURS_PROCLAIMED_DAYS: JSON.stringify([
        { region: 'FL', date: '2026-11-25', name: hostile('closed', 100) },
      ]),
      CALLGATE_CALLING_HOURS_EMERGENCIES: JSON.stringify([
        { region: 'FL', from: '2026-11-23T00:00:00Z', name: hostile('emergency', 100) },
      ]),
    },
  })
  browser = await openBrowser()
  await addLists()
  const { accounts, keys } = running.callgate
  await accounts.ensure({ id: 'other', kind: 'real', name: 'Other' })
  await shareLists(running.callgate, 'other')
  const of = { accountId: 'other', role: 'Administrator', label: 'other' } as const
  stranger = (await keys.create(of)).key
  await Promise.all([
    fillConsole(running, {
      ...{ accountId: 'main', key: running.keys.main, prefix: '21273650', text: hostile },
    }),
    fillConsole(running, {
      ...{ accountId: 'other', key: stranger, prefix: '21273751' },
      text: (field, _, kind) =>
        kind === 'address' ? `https://example.com/${field}` : `${field}-OfOther`,
    }),
  ])
})
afterAll(async () => {
  await running.end()
  rmSync(folder, { recursive: true, force: true })
})

/** Of the do-not-call list two versions, so that one is kept. */
async function addLists(): Promise<void> {
  const lists = getListsFolder(running.callgate.settings)
  const file = join(folder, 'numbers.txt')
  for (const [name, numbers] of [
    ['us-dnc', '2127365099\n'],
    ['us-dnc', '2127365099\n2127365098\n'],
    ['litigators', '2127365099\n'],
  ] as const) {
    writeFileSync(file, numbers)
    const made = { name, files: [file], folder: lists, asOf: mondayNoon, clock: systemClock }
    await importList({ ...made, areaCodes: 'all' })
  }
  running.callgate.data.lists.refresh()
}

async function open(key: string, options: { width?: number } = {}): Promise<Visitor> {
  const visitor = await openVisitor(browser, options)
  await addReader(visitor)
  await signIn(visitor.page, running.url, key)
  return visitor
}

/** What the console stores and shows nowhere. */
const notShown = /^(?:goods|opt-out|person|https:..example.com.(?:page|certificate)) ?/

it('shows hostile texts as texts on every page', async () => {
  const visitor = await open(running.keys.main, { width: 320 })
  const { page: tab } = visitor
  const found: string[] = []
  // The others walk where this one was, whatever it has found.
  walk = await walkConsole(visitor, running.url, async (page, isFirst) => {
    found.push(...page.strange.map((element) => `${tab.url()} has ${element}`))
    if (isFirst) return await expectSound(visitor).catch((cause) => void found.push(String(cause)))
    const overflow = await tab.evaluate('document.documentElement.scrollWidth - innerWidth')
    if (Number(overflow) > 0) found.push(`${tab.url()} is wider than its window`)
    found.push(...visitor.takeComplaints())
  })
  const unseen = texts.filter((text) => !walk.texts.some((one) => one.includes(text)))
  found.push(
    ...unseen.filter((text) => !notShown.test(text)).map((text) => `no page shows ${text}`),
  )
  const unreached = allPages.filter(({ path }) => !walk.reached.has(path))
  found.push(...unreached.map(({ path }) => `no link or form leads to ${path}`))
  expect(found).toEqual([])
  await visitor.context.close()
})

it('says at the field what is wrong, keeps what was sent, and changes nothing', async () => {
  const visitor = await open(running.keys.main, { width: 320 })
  const { page: tab } = visitor
  const found: string[] = []
  const before = await readData()
  for (const { form, address } of walk.forms.values()) {
    for (const field of form.fields) {
      // An opt-out is recorded if it names a number; what cannot be used is named beside it.
      if (form.action === '/console/opt-outs' && field.name !== 'number') continue
      for (const wrong of listWrong(field)) {
        const sent = { ...fillRight(form), [field.name]: wrong }
        const answer = await sendForm(tab, form, sent)
        const said = findUnsaid(answer, { form, field, sent })
        found.push(...said.map((what) => `${form.action} ${field.name} '${wrong}' ${what}`))
      }
    }
    if (address === undefined) continue
    await tab.goto(running.url + address)
    await fillAndSend(tab, form, fillWrong(form))
    await tab.getByRole('alert').waitFor()
    await expectSound(visitor)
  }
  expect(found.map((one) => one.replace(/x{20,}|9{20,}/, 'too long'))).toEqual([])
  expect(await findChanges(before)).toEqual([])
  await visitor.context.close()
})

const forPeople = ['Now', 'Search', 'Number', 'Lists', 'Rules', 'Projects', 'Attempts']
const ofRecords = ['Opt-outs', 'Consents']
const ofSupervisors = ['Approvals', 'Evidence', 'Changes', 'Keys']
const ofAccount = [...forPeople, ...ofRecords, 'Caller IDs']

interface Somebody {
  /** What they may see; a new page has to be put here. */
  readonly menu: readonly string[]
  /** Of a key; absent of a person, who has a group instead. */
  readonly key?: Pick<NewApiKey, 'role' | 'rights' | 'projects'>
  readonly group?: string
  /** The project that their forms must name. */
  readonly project?: string
}

/** The groups are those of {@link oidcEnvironment}. */
const people: Readonly<Record<string, Somebody>> = {
  'a viewer': { group: 'see', menu: forPeople },
  'an operator': { group: 'run it', menu: [...forPeople, 'Keys'] },
  'an officer': { group: 'comply', menu: [...forPeople, ...ofRecords, ...ofSupervisors] },
  'an admin': { group: 'own <b>', menu: [...ofAccount, ...ofSupervisors, 'Audit', 'Status'] },
  'an Agent': { key: { role: 'Agent' }, menu: ofAccount },
  'a Supervisor': { key: { role: 'Supervisor' }, menu: [...ofAccount, ...ofSupervisors] },
  'an Administrator of a project': {
    key: { role: 'Administrator', projects: ['MAIN-2'] },
    project: 'MAIN-2',
    menu: [...ofAccount, 'Approvals'],
  },
  'a key for records': { key: { role: 'Administrator', rights: ['records'] }, menu: ['Opt-outs'] },
  'a key for look-ups': {
    key: { role: 'Supervisor', rights: ['look-up'] },
    menu: ['Number', 'Lists', 'Rules', 'Projects', 'Attempts'],
  },
}

it.each(Object.entries(people))(
  'shows %s what they may use, and refuses the rest in words',
  async (_, who) => {
    const visitor = await become(who)
    const { page: tab } = visitor
    const { menu } = await readPage(tab)
    expect(menu.toSorted()).toEqual(who.menu.toSorted())
    const found: string[] = []
    const shown = new Map<string, ReadForm>()
    for (const address of listAddresses(walk)) {
      const answer = await readAddress(tab, address)
      const entry = allPages.find(({ path }) => path === findPattern(address))?.entry
      const isShown = answer.status === 200
      if (entry && menu.includes(entry.name) !== isShown)
        found.push(`${address} is ${answer.status}`)
      for (const form of isShown ? answer.forms : []) shown.set(nameForm(form), form)
      found.push(...(isShown ? answer.strange : findUntold(answer)))
      if (!isShown && secret.test(answer.text)) found.push(`${address} shows data`)
    }
    found.push(...(await sendAll(tab, { shown, who })))
    expect(found).toEqual([])
    await visitor.context.close()
  },
)

/** Only the account itself says whether an Agent may do it. */
const dependsOnAccount = 'the role Agent may not end opt-outs of this account'

/** What is done of the forms that were not shown, and refused of those that were. */
async function sendAll(
  tab: Tab,
  { shown, who }: { shown: ReadonlyMap<string, ReadForm>; who: Somebody },
): Promise<readonly string[]> {
  const found: string[] = []
  const before = await readData()
  const isRefused = ({ status }: AnswerPage) => status === 403 || status === 404
  for (const [name, { form, address }] of walk.forms) {
    // Its rights are those of the form that leads to it.
    const isStep = address === undefined
    if (shown.has(name)) continue
    if (isStep && (await readAddress(tab, form.action)).status === 200) continue
    const answer = await sendForm(tab, form, fillRight(form))
    if (isRefused(answer)) found.push(...findUntold(answer))
    else found.push(`${name} is not shown, and not refused`)
  }
  found.push(...(await findChanges(before)))
  for (const [name, form] of shown) {
    const project = who.project && { projectId: who.project, projId: who.project }
    // What there is only one of is left for others.
    const isOfOne = findPattern(form.action)?.includes(':')
    const values = { ...fillRight(form, project || {}), ...(isOfOne && fillWrong(form)) }
    const answer = await sendForm(tab, form, values)
    if (isRefused(answer) && !answer.alert.includes(dependsOnAccount)) {
      found.push(`${name} is shown, and refused: ${answer.alert}`)
    }
  }
  return found
}

/** Of account main. */
async function become({ key: limits, group }: Somebody): Promise<Visitor> {
  if (limits) {
    const label = `somebody ${Math.random()}`
    const { key } = await running.callgate.keys.create({ accountId: 'main', label, ...limits })
    return await open(key)
  }
  const visitor = await openVisitor(browser)
  await addReader(visitor)
  provider.claims = { groups: group, email: '"><script>alert(4)</script>@example.com' }
  await visitor.page.goto(`${running.url}/console/sign-in`)
  await visitor.page.getByRole('link', { name: 'Sign in with Example ID' }).click()
  await visitor.page.getByRole('button', { name: 'Sign out' }).waitFor()
  return visitor
}

/** What only account main has. */
const secret = /OfMain|212\D*736/

/** What a refusal lacks, or has too much. */
function findUntold({ address, status, alert, heading, strange }: AnswerPage): string[] {
  const said = alert.replace(/\s+/g, ' ').trim()
  const lacks = [...strange]
  if (status !== 403 && status !== 404) lacks.push(`${address} has status ${status}: ${said}`)
  if (heading === '' || said.length < 30) lacks.push(`${address} is refused without words: ${said}`)
  return lacks
}

it('shows another account nothing, and changes nothing of it', async () => {
  const visitor = await open(stranger)
  const { page: tab } = visitor
  const found: string[] = []
  const all = listAddresses(walk)
  const ids = new Set(all.join(' ').match(/\b(?:ch|ap|ev|key)-[0-9a-f]{8,}|\b0[0-9a-z]{28}\b/g))
  expect(ids.size).toBeGreaterThan(8)
  const own = new Set<string | undefined>()
  for (const address of all) {
    const answer = await readAddress(tab, address)
    const shown = `${answer.text} ${answer.links.join(' ')}`
    const named = [...ids].filter((id) => !address.includes(id) && shown.includes(id))
    const data = [...named, ...(secret.exec(shown) ?? [])]
    if (data.length > 0) found.push(`${address} shows ${data.join()}`)
    if (answer.status !== 200) found.push(...findUntold(answer))
    if (shown.includes('OfOther') || answer.status !== 200) own.add(findPattern(address))
  }
  const theirs = walk.texts.filter((text) => text.includes('OfMain'))
  const paths = theirs.map((text) => text.split('\n')[0] ?? '')
  // Where one account has something, the other has as well.
  const entries = allPages.filter(({ path, entry }) => entry && paths.includes(path))
  expect(entries.filter(({ path }) => !own.has(path))).toEqual([])
  const before = await readData()
  for (const { form } of walk.forms.values()) {
    if (form.method === 'get' || !findPattern(form.action)?.includes(':')) continue
    found.push(...findUntold(await sendForm(tab, form, fillRight(form))))
  }
  expect(found).toEqual([])
  expect(await findChanges(before)).toEqual([])
  await visitor.context.close()
})

interface Sent {
  readonly form: ReadForm
  readonly field: ReadForm['fields'][number]
  readonly sent: Readonly<Record<string, string>>
}

/** What an answer to a wrong field lacks. */
function findUnsaid(
  { status, alert, problems, values, strange }: AnswerPage,
  sent: Sent,
): string[] {
  const { form, field } = sent
  const lacks: string[] = []
  if (alert === '') return [`was taken with status ${status}`]
  if (status >= 500 || (status < 400 && !form.isLook)) lacks.push(`has status ${status}`)
  if (field.type !== 'hidden' && !problems[field.name])
    lacks.push(`is not named: ${alert.slice(0, 300).replaceAll('\n', ' ')}`)
  // What is not offered cannot be shown.
  const isShown = ({ name, type }: Sent['field']) =>
    type !== 'file' && type !== 'hidden' && (name !== field.name || !field.options.length)
  const lost = form.fields.filter(
    (one) => isShown(one) && (values[one.name] ?? '').trim() !== sent.sent[one.name]?.trim(),
  )
  if (lost.length > 0) lacks.push(`has lost ${lost.map(({ name }) => name).join()}`)
  return [...lacks, ...strange]
}

/** Tables that are written to by reading, or by the clock. */
const restless = ['change_head', 'console_sessions', 'journals', 'key_uses']

/** Rows that are new or changed. */
async function findChanges(before: readonly string[]): Promise<readonly string[]> {
  return (await readData()).filter((row) => !before.includes(row))
}

/** Each row of the database, without who has read what. */
async function readData(): Promise<readonly string[]> {
  const { db } = running.callgate.storage
  const tables = await db.introspection.getTables()
  const rows = await Promise.all(
    tables
      .filter(({ name }) => !restless.includes(name))
      .map(async ({ name }) => {
        const all = await db
          .selectFrom(name as 'audit')
          .selectAll()
          .execute()
        return all
          .filter(({ action }) => !/read|searched|streamed|session/.test(action ?? ''))
          .map((row) => `${name} ${JSON.stringify(row)}`)
      }),
  )
  return rows.flat()
}
