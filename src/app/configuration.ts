/**
 * What the operator edits: settings, calling rules, and the facts of the sandbox; what differs between two
 * of them, and which of it a running server can take over.
 */
import {
  getAt,
  isReloadable,
  isTree,
  listSettingLeaves,
  secretNames,
  setAt,
  type Tree,
} from '../config/load.js'
import type { Settings } from '../config/settings.js'
import { formatDay, formatInstant } from '../domain/time/dates.js'
import { type DayWindow, formatDayWindow } from '../domain/time/week-windows.js'
import { nameVersion } from '../gate/journal/recovery/kept-rules.js'
import type { CallingRules } from '../law/calling-rules.js'
import type { SandboxFile } from '../service/sandbox/sandbox-file.js'

/** Data only, so that it can be sent to another thread. */
export interface Configuration {
  readonly settings: Settings
  readonly rules: CallingRules['document']
  readonly sandboxFile: SandboxFile
}

/** What is in use. */
export const toConfiguration = (
  settings: Settings,
  {
    rules,
    sandbox,
  }: { readonly rules: CallingRules; readonly sandbox: { readonly file: SandboxFile } },
): Configuration => ({ settings, rules: rules.document, sandboxFile: sandbox.file })

/** Both values as JSON, shortened; secrets are hidden. */
export interface ValueChange {
  /** A setting, or a file and the place in it. */
  readonly field: string
  readonly from: string
  readonly to: string
}

/** 12 hex digits each: two that are equal have the same content. */
export interface ConfigurationVersions {
  /** Of the settings, without secrets, and of the facts of the sandbox. */
  readonly settings: string
  /** Of the calling rules. */
  readonly rules: string
}

export function computeVersions(configuration: Configuration): ConfigurationVersions {
  const { settings, rules, sandboxFile } = configuration
  const sandbox = { ...sandboxFile, lines: [...sandboxFile.lines] }
  return {
    settings: nameVersion(formatSorted([settings, sandbox])),
    rules: nameVersion(formatRules(rules)),
  }
}

/** Their text, which is the same for the same rules. */
export const formatRules = (rules: Configuration['rules']): string => formatSorted(rules)

function formatSorted(all: unknown): string {
  return JSON.stringify(all, (name, value) => {
    // Whoever reads the version must not be able to try secrets.
    if (secretNames.has(name)) return undefined
    return isTree(value) ? Object.fromEntries(Object.entries(value).sort(byName)) : value
  })
}

/** The value of each setting as JSON, shortened; secrets are hidden. */
export function describeSettings(settings: Settings): Readonly<Record<string, string>> {
  return Object.fromEntries(
    listSettingLeaves().map(({ path }) => [
      path.join('.'),
      format(path.at(-1) ?? '', getAt(settings, path)),
    ]),
  )
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1)

export interface ConfigurationChanges {
  readonly applied: readonly ValueChange[]
  /** Changed in the files, but not taken over. */
  readonly needRestart: readonly ValueChange[]
}

/** The settings of `next`, except for those that need a restart. */
export function keepUntilRestart(inUse: Settings, next: Settings): Settings {
  const kept = structuredClone(next) as Tree
  for (const { path, schema } of listSettingLeaves()) {
    if (!isReloadable(schema)) setAt(kept, path, getAt(inUse, path))
  }
  return kept as Settings
}

export function compareConfigurations(
  inUse: Configuration,
  next: Configuration,
): ConfigurationChanges {
  const applied: ValueChange[] = []
  const needRestart: ValueChange[] = []
  for (const { path, schema } of listSettingLeaves()) {
    const [from, to] = [getAt(inUse.settings, path), getAt(next.settings, path)]
    if (isEqual(from, to)) continue
    const name = path.at(-1) ?? ''
    const change = { field: path.join('.'), from: format(name, from), to: format(name, to) }
    if (isReloadable(schema)) applied.push(change)
    else needRestart.push(change)
  }
  const { rulesFile } = next.settings.callingHours
  const lines = (configuration: Configuration) => ({
    ...configuration.sandboxFile,
    lines: Object.fromEntries(configuration.sandboxFile.lines),
  })
  applied.push(
    ...listChanges(inUse.rules, next.rules, `${rulesFile}:`),
    ...listChanges(lines(inUse), lines(next), `${next.settings.sandbox.file}:`),
  )
  return { applied, needRestart }
}

/** The innermost values that differ. */
function listChanges(from: unknown, to: unknown, file: string, path = ''): readonly ValueChange[] {
  if (isEqual(from, to)) return []
  if (isTree(from) && isTree(to) && !isDayWindow(from)) {
    const names = new Set([...Object.keys(from), ...Object.keys(to)])
    const pathOf = (name: string) => (path === '' ? name : `${path}.${name}`)
    return [...names].flatMap((name) => listChanges(from[name], to[name], file, pathOf(name)))
  }
  const name = path.split('.').at(-1) ?? ''
  return [{ field: `${file} ${path}`, from: format(name, from), to: format(name, to) }]
}

function isEqual(from: unknown, to: unknown): boolean {
  return JSON.stringify(from) === JSON.stringify(to)
}

const maxShownLength = 300
const timeNames: ReadonlySet<string> = new Set([
  'from',
  'until',
  'at',
  'asOf',
  'listsAsOf',
  'effectiveFrom',
])
/** In milliseconds; a smaller number with one of these names is a day. */
const minInstant = 100_000_000_000

/** Times are shown as they are written in the files. */
function format(ofName: string, ofValue: unknown): string {
  const show = (name: string, value: unknown): unknown => {
    if (secretNames.has(name) && value !== undefined) return '(hidden)'
    if (isDayWindow(value)) return formatDayWindow(value)
    if (!timeNames.has(name) || typeof value !== 'number') return value
    return value >= minInstant ? formatInstant(value) : formatDay(value)
  }
  const text = JSON.stringify(show(ofName, ofValue), show) ?? 'unset'
  return text.length <= maxShownLength ? text : `${text.slice(0, maxShownLength)}...`
}

function isDayWindow(value: unknown): value is DayWindow {
  return isTree(value) && typeof value.start === 'number' && typeof value.end === 'number'
}
