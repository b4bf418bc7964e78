/**
 * Reads the settings from one YAML file and environment variables named after the path; the
 * environment wins. All problems are reported together and stop the start.
 * The only file that reads `process.env`.
 */

import { lstatSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { load, loadAll, YAMLException } from 'js-yaml'
import { z } from 'zod'
import { getErrorCode, getErrorMessage } from '../errors.js'
import { type Settings, settingsSchema } from './settings.js'
import { suggestName } from './suggest-name.js'
import { packageRoot } from './version.js'

/** One setting with its path, environment variable and schema. */
export interface SettingLeaf {
  readonly path: readonly string[]
  readonly variable: string
  readonly schema: z.ZodType
}

/** Every setting of the schema, in order. */
export function listSettingLeaves(
  schema: z.ZodType = settingsSchema,
  path: readonly string[] = [],
): readonly SettingLeaf[] {
  const inner = unwrapSchema(schema)
  if (!(inner instanceof z.ZodObject)) {
    return [{ path, variable: toVariableName(path), schema }]
  }
  return Object.entries(inner.shape).flatMap(([key, child]) =>
    listSettingLeaves(child as z.ZodType, [...path, key]),
  )
}

/** The schema inside defaults and optionals. */
export function unwrapSchema(schema: z.ZodType): z.ZodType {
  if (
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional
  ) {
    return unwrapSchema(schema.unwrap() as z.ZodType)
  }
  return schema
}

const variablePrefix = 'CALLGATE_'

function toVariableName(path: readonly string[]): string {
  const words = path.map((part) => part.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase())
  return variablePrefix + words.join('_')
}

/** Variables with the `CALLGATE_` prefix that are not settings. */
const nonSettingVariables: ReadonlySet<string> = new Set([
  'CALLGATE_CONFIG',
  'CALLGATE_LOGIN_ID',
  'CALLGATE_KEY',
  'CALLGATE_EVENTS_SECRET',
  'CALLGATE_EVENTS_SECRET_PREVIOUS',
  'CALLGATE_PLATFORM_READ_KEY',
  'CALLGATE_TEST_DATA',
  'CALLGATE_E2E_CACHE',
  'CALLGATE_E2E_MIRROR',
  'CALLGATE_E2E_KEEP',
])

export class SettingsError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`invalid settings:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.name = 'SettingsError'
    this.problems = problems
  }
}

export interface SettingsInput {
  /** Path of the YAML file; absent means `CALLGATE_CONFIG`, else the default file if there is one. */
  readonly file?: string | undefined
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Path of a YAML file whose settings replace those of the file and the environment. */
  readonly overlay?: string | undefined
  /** Replaces `callingHours.rulesFile`. */
  readonly rulesFile?: string | undefined
}

/**
 * Reads the settings from file and environment. Throws {@link SettingsError} with every problem:
 * unknown settings, wrong types, values out of range, unreadable files.
 */
export function loadSettings(input: SettingsInput = {}): Settings {
  const { settings, problems } = checkSettings(input)
  if (problems.length > 0) throw new SettingsError(problems)
  return deepFreeze(settings)
}

/**
 * Reads the settings like {@link loadSettings}, but returns the problems. With problems, `settings` has
 * only the folder and the files that it names, so that these can be checked too; the rest are defaults.
 */
export function checkSettings(input: SettingsInput = {}): {
  readonly settings: Settings
  readonly problems: readonly string[]
  /** False if the settings could not be read, so they may name another data folder than `settings.dataDir`. */
  readonly isDataDirKnown: boolean
} {
  const problems: string[] = []
  const tree = readTree(input, problems)
  const isFileRead = problems.length === 0
  // Compiling the schema for a single use would take longer than the use.
  const parsed = settingsSchema.safeParse(tree, { jitless: true })
  if (!parsed.success) {
    problems.push(...parsed.error.issues.map((issue) => describeIssue(issue, tree)))
  }
  const valid = selectValidPaths(tree)
  return {
    settings: parsed.success ? parsed.data : settingsSchema.parse(valid),
    problems,
    isDataDirKnown:
      valid.dataDir !== undefined || (isFileRead && getAt(tree, ['dataDir']) === undefined),
  }
}

const pathSettings = [['dataDir'], ['callingHours', 'rulesFile'], ['sandbox', 'file']]

function selectValidPaths(tree: Tree): Tree {
  const selected: Tree = {}
  for (const path of pathSettings) {
    const value = getAt(tree, path)
    if (typeof value === 'string' && /^\S(?:.*\S)?$/.test(value)) setAt(selected, path, value)
  }
  return selected
}

/** The value at a path of a tree; `undefined` if there is none. */
export function getAt(tree: unknown, path: readonly string[]): unknown {
  return path.reduce((at, key) => (isTree(at) ? at[key] : undefined), tree)
}

/** Whether a running server takes a change of this setting over; any other setting needs a restart. */
export function isReloadable(schema: z.ZodType): boolean {
  if (schema.meta()?.reload === true) return true
  const inner = unwrapSchema(schema)
  return inner !== schema && isReloadable(inner)
}

let defaults: Settings | undefined

/** Where the value of a setting is from: `default` also if somebody has set the same. The environment is as at the start. */
export function findSettingOrigin(
  settings: Settings,
  { path, variable }: Pick<SettingLeaf, 'path' | 'variable'>,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): 'variable' | 'file' | 'default' {
  defaults ??= settingsSchema.parse({}, { jitless: true })
  const [value, byDefault] = [getAt(settings, path), getAt(defaults, path)]
  if (JSON.stringify(value) === JSON.stringify(byDefault)) return 'default'
  return environment[variable] ? 'variable' : 'file'
}

/** What the file and the environment set, without defaults, as JSON that can be used as a settings file. */
export function formatGivenSettings(
  input: SettingsInput,
  { withSecrets }: { readonly withSecrets: boolean },
): string {
  const show = (name: string, value: unknown) =>
    secretNames.has(name) && !withSecrets ? undefined : value
  return `${JSON.stringify(readTree(input, []), show, 2)}\n`
}

/** The API key that commands use to call a running server, from `CALLGATE_LOGIN_ID`. */
export function readLoginIdFromEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  return environment.CALLGATE_LOGIN_ID?.trim() || undefined
}

/** The API key with which an agent's process asks the gate, from `CALLGATE_KEY`. */
export function readAgentKeyFromEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  return environment.CALLGATE_KEY?.trim() || undefined
}

/** The secrets of a voice platform that `callgate proxy` needs. */
export function readPlatformSecretsFromEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): {
  readonly eventSecrets: readonly { readonly name: string; readonly secret: string }[]
  readonly readKey: string | undefined
} {
  const names = ['CALLGATE_EVENTS_SECRET', 'CALLGATE_EVENTS_SECRET_PREVIOUS']
  return {
    eventSecrets: names.flatMap((name) => {
      const secret = environment[name]?.trim()
      return secret ? [{ name, secret }] : []
    }),
    readKey: environment.CALLGATE_PLATFORM_READ_KEY?.trim() || undefined,
  }
}

/** Whether systemd waits for a message that the service is ready (sd_notify(3)). */
export function hasNotifySocket(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  return environment.NOTIFY_SOCKET !== undefined
}

export type Tree = Record<string, unknown>

function readTree(input: SettingsInput, problems: string[]): Tree {
  const environment = input.environment ?? process.env
  const tree = readSettingsFile(input.file ?? environment.CALLGATE_CONFIG, problems)
  applyEnvironment(tree, environment, problems)
  if (input.overlay !== undefined) merge(tree, readSettingsFile(input.overlay, problems))
  if (input.rulesFile !== undefined) setAt(tree, ['callingHours', 'rulesFile'], input.rulesFile)
  return tree
}

/** Lists are replaced as a whole. */
function merge(tree: Tree, overlay: Tree): void {
  for (const [name, value] of Object.entries(overlay)) {
    const below = tree[name]
    if (isTree(below) && isTree(value)) merge(below, value)
    else tree[name] = value
  }
}

function readSettingsFile(file: string | undefined, problems: string[]): Tree {
  const path = resolve(file ?? 'config/callgate.yaml')
  const existing = file === undefined ? resolveShippedFile('config/callgate.yaml') : path
  if (isAbsent(existing)) {
    problems.push(`${path}: settings file not found`)
    return {}
  }
  try {
    // A file with only comments has no document.
    const [first, ...others] = loadAll(readFileSync(existing, 'utf8'))
    const tree = first ?? {}
    if (others.length === 0 && isTree(tree)) return tree
    problems.push(`${existing}: must be one map of setting names to values`)
  } catch (cause) {
    problems.push(`${existing}: ${yamlProblem(cause)}`)
  }
  return {}
}

/** The line, and what is wrong without the text that it quotes, which could contain a key. */
function yamlProblem(cause: unknown): string {
  if (!(cause instanceof YAMLException)) return getErrorMessage(cause)
  const reason = cause.reason.replace(/\s*(?:: |"|!<).*$/s, '')
  return cause.mark ? `line ${cause.mark.line + 1}: ${reason}` : reason
}

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function applyEnvironment(
  tree: Tree,
  environment: Readonly<Record<string, string | undefined>>,
  problems: string[],
): void {
  const byVariable = new Map(listSettingLeaves().map((leaf) => [leaf.variable, leaf]))
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith(variablePrefix) || nonSettingVariables.has(variable)) continue
    if (text !== undefined && isServiceLink(variable, text)) continue
    const leaf = byVariable.get(variable)
    if (!leaf) problems.push(describeUnknownVariable(variable, [...byVariable.keys()]))
    else if (text !== undefined && text !== '')
      setAt(tree, leaf.path, parseVariable(leaf.schema, text))
  }
}

/**
 * Kubernetes gives each pod such variables for each Service of its namespace (as Docker's legacy links do): `CALLGATE_PORT`
 * for a Service named `callgate`, and `CALLGATE_HTTP_PORT` for one named `callgate-http`.
 */
function isServiceLink(variable: string, text: string): boolean {
  const protocol = '(?:tcp|udp|sctp)'
  const valuesByName: readonly (readonly [name: string, value: string])[] = [
    ['SERVICE_HOST', '[0-9a-f.:]+'],
    ['SERVICE_PORT(?:_[A-Z0-9_]+)?', '\\d+'],
    ['PORT', `${protocol}://\\S+`],
    [`PORT_\\d+_${protocol}`, `${protocol}://\\S+`],
    [`PORT_\\d+_${protocol}_PROTO`, protocol],
    [`PORT_\\d+_${protocol}_PORT`, '\\d+'],
    [`PORT_\\d+_${protocol}_ADDR`, '[0-9a-f.:]+'],
  ]
  return valuesByName.some(
    ([name, value]) =>
      new RegExp(`^${variablePrefix}(?:[A-Z0-9_]+_)?${name}$`, 'i').test(variable) &&
      new RegExp(`^${value}$`, 'i').test(text),
  )
}

function describeUnknownVariable(variable: string, known: readonly string[]): string {
  const nameOf = (text: string) => text.slice(variablePrefix.length)
  const names = [...known, ...nonSettingVariables].map(nameOf)
  const meant = suggestName(nameOf(variable), names)
  return describeUnknown(variable, meant && variablePrefix + meant)
}

/** `group` is the path of the group that the unknown name is in. */
function describeUnknownSetting(group: readonly string[], key: string): string {
  const siblings = listSettingLeaves().flatMap(({ path }) =>
    group.every((part, index) => path[index] === part)
      ? path.slice(group.length, group.length + 1)
      : [],
  )
  const meant = suggestName(key, new Set(siblings))
  const pathOf = (name: string) => [...group, name].join('.')
  return describeUnknown(pathOf(key), meant && pathOf(meant))
}

function describeUnknown(name: string, meant: string | undefined): string {
  return `unknown setting '${name}'${meant ? `; did you mean '${meant}'?` : ''}`
}

export function setAt(tree: Tree, path: readonly string[], value: unknown): void {
  const [first, ...rest] = path
  if (first === undefined) return
  if (rest.length === 0) {
    tree[first] = value
    return
  }
  const child = tree[first]
  const branch: Tree = isTree(child) ? child : {}
  tree[first] = branch
  setAt(branch, rest, value)
}

const yamlSchemaKinds = [z.ZodNumber, z.ZodBoolean, z.ZodArray, z.ZodRecord]

/** Numbers, booleans, lists and maps are parsed as YAML; all other values are taken literally. */
function parseVariable(schema: z.ZodType, text: string): unknown {
  const inner = unwrapSchema(schema)
  if (!yamlSchemaKinds.some((kind) => inner instanceof kind)) return text
  try {
    return load(text)
  } catch {
    return text
  }
}

/** Settings whose values never appear in messages. */
export const secretNames: ReadonlySet<string> = new Set(['password', 'loginId', 'clientSecret'])

function describeIssue(issue: z.core.$ZodIssue, tree: Tree): string {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => describeUnknownSetting(path, key)).join('\n  - ')
  }
  const value = getAt(tree, path)
  const name = path.join('.')
  const isSetting = listSettingLeaves().some((leaf) => leaf.path.join('.') === name)
  const variable = isSetting ? `; variable ${toVariableName(path)}` : ''
  return `${name}: ${issue.message}${describeValue(path, value, issue)}${variable}`
}

/** Groups and addresses are not shown, since a mistake there may contain a secret. */
function describeValue(path: readonly string[], value: unknown, issue: z.core.$ZodIssue): string {
  const name = path.at(-1) ?? ''
  const isGroup = isTree(value) || (issue.code === 'invalid_type' && issue.expected === 'object')
  const isAddress = name === 'url' || name.endsWith('Url')
  if (value === undefined || isGroup || isAddress || secretNames.has(name)) return ''
  return ` (got ${JSON.stringify(value)})`
}

/** Makes a value and all it contains read-only. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value)
    Object.values(value).forEach(deepFreeze)
  }
  return value
}

/** The path itself when it exists, otherwise the file of that name that ships with the program. */
export function resolveShippedFile(path: string): string {
  return isAbsent(path) ? resolve(packageRoot, path) : resolve(path)
}

/** A file or link that exists but cannot be read is not absent: no other file may replace it. */
function isAbsent(path: string): boolean {
  try {
    lstatSync(path)
    return false
  } catch (cause) {
    return ['ENOENT', 'ENOTDIR'].includes(getErrorCode(cause) ?? '')
  }
}
